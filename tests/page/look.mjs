// What holds for each page, whatever it shows.
import assert from "node:assert/strict";

export const unfold = (tab) =>
  tab.evaluate(async () => {
    for (const d of document.querySelectorAll("details")) d.open = true;
    await new Promise((done) => setTimeout(done, 0));
    await new Promise(requestAnimationFrame);
  });

export async function pictures(tab, page, wanted) {
  const list = await tab.$$eval("figure", (all) =>
    all.map((f) => ({
      id: f.id,
      label: f.querySelector(".picture svg[role=img]")?.getAttribute("aria-label") ?? "",
      title: document.getElementById(f.getAttribute("aria-labelledby"))?.textContent ?? "",
      rows: f.querySelectorAll("details table tbody tr").length,
      caption: f.querySelector("details caption")?.textContent ?? "",
      marks: f.querySelectorAll(".picture svg :is(path, rect, line, circle)").length,
      cut: [...f.querySelectorAll(".picture svg text")].filter((t) => {
        const a = t.getBoundingClientRect(), b = t.ownerSVGElement.getBoundingClientRect();
        return a.width > 0 && (a.left < b.left - 2 || a.right > b.right + 2 || a.top < b.top - 2 || a.bottom > b.bottom + 2);
      }).map((t) => t.textContent),
    })));
  assert.ok(wanted.every((id) => list.some((f) => f.id === id)), `${page.name}: ${list.map((f) => f.id)}`);
  for (const f of list) {
    assert.ok(f.label.length > 20 && f.title && f.caption && f.rows > 0 && f.marks > 0, `${page.name}: picture ${JSON.stringify(f)}`);
    assert.deepEqual(f.cut, [], `${page.name}: words of ${f.id} that the picture cuts off at ${tab.viewportSize().width} pixels`);
  }
}

export async function fits(tab, page) {
  const [wide, window] = await tab.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= window, `${page.name}: ${wide} pixels wide in a window of ${window}`);
  const odd = await tab.evaluate(() => /\b(undefined|null|NaN|Infinity|\[object)/.exec(document.getElementById("page").innerText.replace(document.querySelector("pre")?.innerText ?? "", ""))?.[0]);
  assert.equal(odd ?? "", "", `${page.name}: a word that no one wrote`);
}

export async function accessible(tab, page, axe) {
  await tab.evaluate(axe);
  /* rows of a table are alike: its first ten stand for all */
  const style = await tab.addStyleTag({ content: "tbody tr:nth-child(n + 11) { display: none }" });
  const r = await tab.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  await style.evaluate((e) => e.remove());
  assert.deepEqual(r.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.html.slice(0, 160)} ${n.failureSummary}`)}`), [], `${page.name}: axe-core`);
}
