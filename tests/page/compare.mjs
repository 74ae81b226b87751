// The pages of `ripstop compare --html` in headless Chromium: node compare.mjs RIPSTOP ROOT CHROMIUM FOLDER
//
// Of each page: it draws without a word on the console; the JSON in it is that of --json; each number in its tables is the
// JSON's; each variant is in the tables; pictures have names, and no word is cut off; axe-core finds nothing; other
// figures can be chosen.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { differs, expected } from "./figures.mjs";
import { accessible, fits, pictures, unfold } from "./look.mjs";

const [ripstop, root, executablePath, folder] = process.argv.slice(2);
const modules = createRequire(join(root, "build/web/node_modules/x.js"));
const { chromium } = modules("playwright-core");
const axe = readFileSync(modules.resolve("axe-core/axe.min.js"), "utf8");
const PATIENCE = 180000;

const flows = [1, 2, 3].map((i) => ({ src: `h${i}`, dst: "h0", bytes: "300kB" }));
const scenario = (more = {}) => ({ fabric: { network: { kind: "leaf-spine", hosts: 6, leaves: 2, spines: 2, rate: "100G", delay: "1us" }, ...more }, workload: [{ flows }] });

/* sweeps of numbers and of names; names that are markup; variants that cannot be had, and that never end */
const pages = [
  { name: "over", scenario: scenario(), options: ["--over", "cc,routing", "--seeds", "2"], wanted: ["bars", "trade"] },
  { name: "sweep", scenario: scenario(), options: ["--over", "cc", "--vary", "fabric.network.rate=25G,100G,400G", "--vary", "fabric.qos.routing=ecmp,spray", "--seeds", "2"], wanted: ["bars", "trade", "sweep0", "sweep1"] },
  { name: "one", scenario: { ...scenario(), what_if: [{ name: "<img src=x onerror='window.attacked=1'>", set: { "fabric.network.rate": "50G" } }] }, options: ["--over", "what-if", "--seeds", "1"], wanted: ["bars", "trade"] },
  { name: "refused", scenario: scenario(), options: ["--vary", "fabric.qos.buffer=64KiB,8MiB", "--max-time", "30us", "--seeds", "1"], wanted: [] },
];

const browser = await chromium.launch({ executablePath, timeout: PATIENCE, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
try {
  for (const { name, scenario, options, wanted } of pages) {
    const file = join(folder, `${name}.json`), html = join(folder, `${name}.html`), out = join(folder, `${name}.out`);
    writeFileSync(file, JSON.stringify(scenario));
    const run = spawnSync(ripstop, ["compare", "--quiet", "--html", html, "--json", out, ...options, file], { encoding: "utf8" });
    assert.equal(run.status, name === "refused" ? 2 : 0, `${name}: ${run.stderr}`);
    const json = JSON.parse(readFileSync(out, "utf8"));
    const page = { name };
    const said = [];
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, reducedMotion: "reduce" });
    context.setDefaultTimeout(PATIENCE);
    const tab = await context.newPage();
    tab.on("console", (m) => said.push(m.text()));
    tab.on("pageerror", (e) => said.push(e.stack));
    await tab.goto(`file://${html}`);
    await tab.waitForFunction(() => document.documentElement.dataset.ready === "yes");
    assert.deepEqual(JSON.parse(await tab.$eval("#report", (e) => e.textContent)), json, `${name}: the JSON in the page`);
    await unfold(tab);
    const cells = await tab.$$eval("[data-of]", (all) => all.map((e) => [e.dataset.of, e.dataset.as, e.textContent]));
    const wrong = cells.flatMap(([of, as, text]) => differs(as, text, expected(json, of)) ?? []);
    assert.deepEqual(wrong.slice(0, 5), [], `${name}: ${wrong.length} of ${cells.length} figures`);
    const shown = new Set(cells.map(([of]) => of));
    json.variants.forEach((v, i) => {
      for (const [id, f] of Object.entries(v.figures)) if (v.refused === null && f.mean !== null) assert.ok(shown.has(`variants/${i}/figures/${id}/mean`), `${name}: ${v.name}: ${id}`);
      if (v.refused !== null) assert.equal(Object.keys(v.figures).length, 0);
    });
    for (const width of [1400, 400]) {
      await tab.setViewportSize({ width, height: 900 });
      await tab.waitForFunction((w) => [...document.querySelectorAll(".picture")].every((p) => !p.firstElementChild || p.firstElementChild.getAttribute("width") === String(Math.floor(p.clientWidth))), width);
      if (wanted.length) await pictures(tab, page, wanted);
      await fits(tab, page);
    }
    await accessible(tab, page, axe);
    if (wanted.length) {
      const label = () => tab.$eval("#bars svg", (e) => e.getAttribute("aria-label"));
      const before = await label();
      await tab.locator("#bars select").focus();
      await tab.keyboard.press("ArrowDown");
      assert.notEqual(await label(), before, `${name}: the choice of a figure`);
    }
    assert.equal(await tab.evaluate(() => window.attacked), undefined, `${name}: markup of a name ran`);
    assert.deepEqual(said, [], name);
    await context.close();
    console.log(`${name}: ${json.variants.length} variants, ${cells.length} figures`);
  }
} finally {
  await browser.close();
}
