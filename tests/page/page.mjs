// The page of `ripstop sim --html` in headless Chromium: node page.mjs RIPSTOP ROOT CHROMIUM FOLDER
//
// Of each page: it draws, without a word on the console and without a request; the report in it is that of --json; each
// number in its tables is the JSON's; each picture has a name and a table; nothing is wider than the window at 1,400 and at
// 400 pixels; axe-core finds nothing, light and dark. Of some: all controls work by keyboard, the JSON can be saved.
// RS_PAGE_FROM=N draws other random scenarios; RS_PAGE_ONLY=NAME is the page of one scenario alone.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { RANDOM, scenarios } from "./scenarios.mjs";
import { differs, expected } from "./figures.mjs";
import { accessible, fits, pictures, unfold } from "./look.mjs";

const [ripstop, root, executablePath, folder] = process.argv.slice(2);
const modules = createRequire(join(root, "build/web/node_modules/x.js"));
const { chromium } = modules("playwright-core");
const axe = readFileSync(modules.resolve("axe-core/axe.min.js"), "utf8");

/* a busy machine is no fault */
const PATIENCE = 180000;

const sizes = [[1400, "light"], [1400, "dark"], [400, "light"], [400, "dark"]];

/* ---- A scenario's page and JSON ---- */

async function run({ name, scenario, options = [], random }) {
  const file = scenario.file ? join(root, scenario.file) : join(folder, `${name}.json`);
  if (!scenario.file) writeFileSync(file, JSON.stringify(scenario));
  const paths = { html: join(folder, `${name}.html`), json: join(folder, `${name}.out`) };
  const from = Date.now();
  const r = spawn(ripstop, ["sim", "--quiet", "--html", paths.html, "--json", paths.json, ...options, file], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  r.stderr.setEncoding("utf8").on("data", (text) => (said += text));
  const [status] = await once(r, "close");
  /* some random ones are refused, with a message: tools/fuzz-scenarios looks at those */
  if (random && status === 2) return undefined;
  assert.ok(status === 0 || status === 1, `${name}: ripstop: status ${status}: ${said}`);
  return { name, html: paths.html, json: JSON.parse(readFileSync(paths.json, "utf8")), took: Date.now() - from };
}

/* ---- In the browser ---- */

const said = [];

async function open(browser, page, width, scheme) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, reducedMotion: "reduce" });
  context.setDefaultTimeout(PATIENCE);
  const tab = await context.newPage();
  tab.on("console", (m) => said.push(`${page.name}: console: ${m.text()}`));
  tab.on("pageerror", (e) => said.push(`${page.name}: ${e.stack}`));
  tab.on("request", (q) => q.url().startsWith(`file://${page.html}`) || q.url().startsWith("blob:") || said.push(`${page.name}: asked for ${q.url().slice(0, 80)}`));
  await tab.goto(`file://${page.html}`);
  await tab.waitForFunction(() => document.documentElement.dataset.ready === "yes");
  return tab;
}

/* The report in the page is the file of --json, but for what the computation cost. */
async function same_report(tab, page) {
  const text = await tab.evaluate(async () => {
    const e = document.getElementById("report");
    if (e.type !== "application/gzip") return e.textContent;
    const packed = Uint8Array.from(atob(e.textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  });
  const embedded = JSON.parse(text);
  assert.deepEqual({ ...embedded, engine: 0 }, { ...page.json, engine: 0 }, `${page.name}: the report in the page`);
}

async function figures(tab, page) {
  const cells = await tab.$$eval("[data-of]", (all) => all.map((e) => [e.dataset.of, e.dataset.as, e.textContent]));
  const wrong = cells.flatMap(([of, as, text]) => {
    const d = differs(as, text, expected(page.json, of));
    return d ? [`${of}: ${d}`] : [];
  });
  assert.deepEqual(wrong.slice(0, 5), [], `${page.name}: ${wrong.length} of ${cells.length} figures`);
  /* the jobs, the counters, the ports and the links are always there */
  const { counters, jobs, series } = page.json.runs[0];
  assert.ok(cells.length >= Object.keys(counters).length + jobs.length + 8 * Math.min(series.ports.length, 1000), `${page.name}: only ${cells.length} figures`);
  const known = new Set(cells.map(([of]) => of));
  for (let i = 0; i < page.json.diagnosis.length; i++) assert.ok(known.has(`diagnosis/${i}/gain`), `${page.name}: run ${i + 1} is in no table`);
  for (let i = 0; i < Math.min(page.json.runs[0].flows.length, 1000); i++)
    if (page.json.runs[0].flows[i].finish_ns !== null && page.json.runs[0].flows.length <= 1000) assert.ok(known.has(`took:${i}`), `${page.name}: flow ${i} is in no table`);
}

/* What the verdict says is lost is what the text says. */
async function verdict(tab, page) {
  const { title, text } = await tab.evaluate(() => ({ title: document.querySelector("h1").textContent, text: JSON.parse(document.getElementById("about").textContent).text }));
  const lost = /([\d.]+%) of the time is lost/.exec(text.replaceAll(/\s+/g, " "));
  if (page.json.runs[0].jobs.length === 1 && lost) assert.ok(title.includes(lost[1]), `${page.name}: '${title}', the text says ${lost[1]}`);
  if (!page.json.complete) assert.match(title, /not finish/, page.name);
}

/* Words in pictures, which axe-core does not look at: their colour against what is behind them. */
async function contrast(tab, page) {
  const worst = await tab.evaluate(() => {
    const of = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    const light = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((a, c, i) => a + c * [0.2126, 0.7152, 0.0722][i], 0);
    const ratio = (a, b) => {
      const [x, y] = [light(of(a)), light(of(b))].sort((p, q) => q - p);
      return (x + 0.05) / (y + 0.05);
    };
    const words = [["ink", "paper"], ["muted", "paper"], ["gain", "paper"], ["ink", "card"], ["on", "load"], ["on", "hidden"], ["on", "lost-2"], ["on", "loss"], ["paper", "pause"], ["paper", "ink"], ["paper", "lost-2"], ["paper", "queue"]];
    const shapes = [["load-2", "paper"], ["gain", "paper"], ["loss", "paper"], ["pause", "paper"], ["queue", "paper"]];
    return [...words.map((p) => [p, ratio(...p), 4.5]), ...shapes.map((p) => [p, ratio(...p), 3])].filter(([, is, least]) => is < least);
  });
  assert.deepEqual(worst, [], `${page.name}: contrast`);
}

/* Every control is reached by Tab, and does its work by keys. */
async function keyboard(tab, page) {
  const all = await tab.$$eval("a[href], button, select, input, summary, [tabindex='0']", (list) => list.filter((e) => e.checkVisibility()).map((e, i) => (e.dataset.reach = i)).length);
  await tab.evaluate(() => {
    window.reached = new Set();
    document.addEventListener("focusin", (e) => e.target.dataset.reach !== undefined && window.reached.add(e.target.dataset.reach));
  });
  for (let i = 0; i < all + 5; i++) await tab.keyboard.press("Tab");
  const reached = await tab.evaluate(() => window.reached.size);
  assert.equal(reached, all, `${page.name}: Tab reaches ${reached} of ${all} controls`);
  const colours = () => tab.$$eval("#network svg path", (l) => l.map((p) => p.getAttribute("stroke")).join());
  const label = (id) => tab.$eval(`#${id} svg`, (s) => s.getAttribute("aria-label"));

  const slider = tab.locator("#network input[type=range]");
  await slider.focus();
  const before = await colours();
  for (let i = 0; i < 4; i++) await tab.keyboard.press("ArrowRight");
  assert.notEqual(await colours(), before, `${page.name}: the slider colours nothing`);
  const { series } = page.json.runs[0];
  assert.match(await tab.locator("#network output").textContent(), / to /);
  assert.equal(await slider.inputValue(), String(Math.min(3, series.bins - 1)));

  await tab.locator("#heat select").focus();
  const queue = await label("heat");
  await tab.keyboard.press("ArrowDown");
  assert.notEqual(await label("heat"), queue, `${page.name}: the choice of what to show`);
  await tab.locator("#heat input").focus();
  await tab.keyboard.type("no such port");
  assert.match(await tab.locator("#heat .says").last().textContent(), /None whose name/);

  const fold = tab.locator("#network summary");
  await fold.focus();
  await tab.keyboard.press("Enter");
  await tab.locator("#network table").waitFor();

  const button = tab.getByRole("button", { name: "Save the JSON" });
  await button.focus();
  const [download] = await Promise.all([tab.waitForEvent("download"), tab.keyboard.press("Enter")]);
  const saved = JSON.parse(readFileSync(await download.path(), "utf8"));
  assert.deepEqual({ ...saved, engine: 0 }, { ...page.json, engine: 0 }, `${page.name}: the saved JSON`);
}

/* Processor time of the page until it is drawn, so that a busy machine does not count; and its size. */
async function quick(browser, page) {
  const { size } = statSync(page.html);
  assert.ok(size < 5e6, `${page.name}: ${size} bytes`);
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  context.setDefaultTimeout(PATIENCE);
  const tab = await context.newPage();
  const devtools = await tab.context().newCDPSession(tab);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  await tab.goto(`file://${page.html}`);
  await tab.waitForFunction(() => document.documentElement.dataset.ready === "yes");
  const { metrics } = await devtools.send("Performance.getMetrics");
  const spent = metrics.find((m) => m.name === "TaskDuration").value;
  assert.ok(spent > 0 && spent < 2, `${page.name}: ${spent} s of processor time to open`);
  await tab.context().close();
  return `${(size / 1e6).toFixed(2)} MB, opens in ${spent.toFixed(2)} s`;
}

/* ---- All of them ---- */

async function check(browser, page, { sizes, whole }) {
  const tab = await open(browser, page, ...sizes[0]);
  if (whole) await keyboard(tab, page);
  await same_report(tab, page);
  await unfold(tab);
  await verdict(tab, page);
  await figures(tab, page);
  for (const [width, scheme] of sizes) {
    /* a window that changes is drawn anew */
    await tab.setViewportSize({ width, height: 900 });
    await tab.emulateMedia({ colorScheme: scheme });
    await tab.waitForFunction((w) => [...document.querySelectorAll(".picture")].every((p) => p.firstElementChild.getAttribute("width") === String(Math.floor(p.clientWidth))), width);
    await pictures(tab, page, ["network", "heat"]);
    await fits(tab, page);
    await contrast(tab, page);
    /* each width and each scheme once */
    if (whole && (width === 1400) === (scheme === "light")) await accessible(tab, page, axe);
  }
  assert.equal(await tab.evaluate(() => window.attacked), undefined, `${page.name}: markup of a name ran`);
  await tab.context().close();
  assert.deepEqual(said, [], page.name);
}

const browser = await chromium.launch({ executablePath, timeout: PATIENCE, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
try {
  const began = Date.now();
  let n = 0, drawn = 0;
  const all = scenarios(root, Number(process.env.RS_PAGE_FROM ?? 1)).filter((s) => !process.env.RS_PAGE_ONLY || s.name === process.env.RS_PAGE_ONLY);
  /* the next one runs while a page is looked at */
  let next = run(all[0]);
  for (const [i, s] of all.entries()) {
    if (s.random && drawn === RANDOM) break;
    const page = await next;
    next = i + 1 < all.length ? run(all[i + 1]) : undefined;
    next?.catch(() => {}); /* it is told when its turn comes */
    if (!page) continue;
    const made = Date.now();
    if (s.random) drawn++;
    const time = s.large ? `; ${await quick(browser, page)}` : "";
    await check(browser, page, s.whole ? { sizes, whole: true } : { sizes: [sizes[n % 4], sizes[(n + 3) % 4]], whole: false });
    n++;
    s.expect?.(page.json);
    console.log(`${page.name}: run ${page.took} ms, looked at ${Date.now() - made} ms${time}`);
  }
  await next?.catch(() => {});
  assert.ok(drawn === RANDOM || process.env.RS_PAGE_ONLY, "random scenarios");
  console.log(`page: ${n} pages in ${((Date.now() - began) / 1000).toFixed(1)} s`);
} finally {
  await browser.close();
}
