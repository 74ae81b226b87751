// The page as one file: node build.mjs NODE_MODULES OUT.c
// OUT.c holds what stands before the report's data and what stands after it; OUT ending in .html: the whole, for looking at.
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [modules, out] = process.argv.slice(2).map((p) => resolve(p));
const here = dirname(fileURLToPath(import.meta.url));
const esbuild = createRequire(join(modules, "x.js"))("esbuild");

const common = { bundle: true, minify: true, write: false, charset: "utf8", logLevel: "warning" };
const script = await esbuild.build({
  ...common,
  entryPoints: [join(here, "src/main.js")],
  nodePaths: [modules],
  format: "iife",
  target: "es2022",
  metafile: true,
});
const style = await esbuild.build({ ...common, entryPoints: [join(here, "src/page.css")], target: "es2022" });

/* Whose work is in the bundle: each licence's text once, with the packages that it is of. */
function licences(inputs) {
  const texts = new Map();
  const packages = new Set();
  for (const path of Object.keys(inputs)) {
    const m = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
    if (m) packages.add(m[1]);
  }
  for (const name of [...packages].sort()) {
    const { version } = JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8"));
    let text = "";
    for (const file of ["LICENSE", "LICENSE.md", "LICENSE.txt"]) {
      try {
        text ||= readFileSync(join(modules, name, file), "utf8").trim();
      } catch {}
    }
    texts.set(text, [...(texts.get(text) ?? []), `${name} ${version}`]);
  }
  return [...texts].map(([text, names]) => `${names.join(", ")}:\n${text}`).join("\n\n");
}

const mark = "<!--REPORT-->";
const fill = {
  "/*STYLE*/": style.outputFiles[0].text.trim(),
  "/*SCRIPT*/": script.outputFiles[0].text.trim(),
  "LICENCES": licences(script.metafile.inputs).replaceAll("--", "- -"),
};
let page = readFileSync(join(here, "src/page.html"), "utf8");
for (const [key, text] of Object.entries(fill)) page = page.replace(key, () => text);
const [head, tail] = page.split(mark);
if (tail === undefined) throw new Error(`src/page.html has no ${mark}`);

function array(name, text) {
  const bytes = Buffer.from(text);
  const lines = [];
  for (let i = 0; i < bytes.length; i += 32) lines.push(bytes.subarray(i, i + 32).join(","));
  return `const unsigned char ${name}[] = {\n${lines.join(",\n")}};\nconst size_t ${name}_bytes = ${bytes.length};\n`;
}
writeFileSync(
  out,
  `/* Made by web/build.mjs. */\n#include "cli/page.h"\n${array("rs_page_head", head)}${array("rs_page_tail", tail)}` +
    `const char *const rs_page_missing = NULL;\n`,
);
