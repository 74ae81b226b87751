// What a person reads first: how long it takes, how much of that is lost, to what, and what mends it.
import * as Plot from "@observablehq/plot";
import { cell, figure, h } from "./dom.js";
import * as format from "./format.js";
import { alone, bestFix, least, notFinished, unitOf, whyNot } from "./report.js";

/* The title, and the sentences under it. */
function words(r) {
  const [job] = r.jobs;
  const bad = notFinished(r);
  const below = [];
  let title;
  if (bad.length) {
    title = r.jobs.length === 1 ? "It does not finish." : bad.length === 1 ? `Job “${bad[0].name}” does not finish.` : `${bad.length} of ${r.jobs.length} jobs do not finish.`;
    for (const j of bad.slice(0, 4)) below.push(`${r.jobs.length > 1 ? `“${j.name}”: ` : "Why: "}${whyNot(j, r)}.`);
    for (const f of r.base.failures.slice(0, 2)) below.push(`The queue pair from ${r.fabric.endpoints[f.src].name} to ${r.fabric.endpoints[f.dst].name} ended in error${f.place ? `; most of its packets were lost at ${f.place}` : ""}.`);
    if (r.base.deadlock.length) below.push(`The circle: ${r.base.deadlock.join(" → ")} → ${r.base.deadlock[0]}.`);
    if (r.jobs.length === 1 && r.diagnosed) {
      const { time, by } = least(r, 0);
      if (time !== null && by) below.push(`It takes ${format.time(time)} when this is ideal: ${by.name}.`);
      else if (time === null) below.push("It does not finish, whatever is made ideal.");
    }
  } else if (r.jobs.length === 1) {
    const { time, by } = least(r, 0);
    const share = r.diagnosed && by ? 1 - time / job.takes : 0;
    title = `${unitOf(job)} ${format.time(job.takes)}.`;
    if (r.diagnosed) title += share < 0.001 ? (r.json.causes.length ? "" : " Nothing of it is lost.") : ` ${format.share(share)} of that is lost.`;
  } else {
    const slow = r.jobs.map((j) => ({ j, by: alone(r, j.i) })).filter((x) => x.by).map((x) => ({ ...x, times: x.j.takes / x.by.job_times_ns[x.j.i] }));
    const worst = slow.reduce((a, b) => (!a || b.times > a.times ? b : a), undefined);
    if (worst && worst.times > 1.01) {
      title = `Job “${worst.j.name}” pays most for the others: it takes ${worst.times.toPrecision(3)} times as long as alone.`;
      below.push(`It takes ${format.time(worst.j.takes)} beside the others and ${format.time(worst.by.job_times_ns[worst.j.i])} alone.`);
    } else title = slow.length ? "No job is slower beside the others than alone." : `${format.plural(r.jobs.length, "job")} finish.`;
  }
  return { title, below };
}

function causes(r) {
  const list = r.json.causes;
  if (!list.length) return null;
  return h("ol", { class: "causes" }, list.map((c) =>
    h("li", {},
      h("p", { class: "cause" }, h("b", {}, format.joined(`${c.what[0].toUpperCase()}${c.what.slice(1)}.`)), " ", h("span", { class: "id" }, c.id)),
      h("p", { class: "worth" }, r.json.complete ? `${format.share(c.share)} less time without it` : r.cases[c.run - 1]?.ends ? "Without it the run ends" : "Without it the run does not end either", r.json.complete && c.interval[1] - c.interval[0] > 0.0005 ? ` (${format.share(c.interval[0])} to ${format.share(c.interval[1])}, 95% sure)` : "", c.fix !== null && r.cases[c.fix - 1] ? `. Mended by: ${r.cases[c.fix - 1].name}` : "", "."),
      c.evidence.length ? h("ul", {}, c.evidence.map((e) => h("li", {}, format.joined(e)))) : null)));
}

/* Needed and lost, on one line; where the best fix ends. */
function bar(r) {
  const [job] = r.jobs;
  const { time, by } = least(r, 0);
  if (r.jobs.length > 1 || job.takes === null || !by || time >= job.takes * 0.999) return null;
  const fix = bestFix(r);
  const fixed = fix && fix.job_times_ns[0] !== null ? fix.job_times_ns[0] : null;
  const end = Math.max(job.takes, fixed ?? 0);
  const parts = [
    { from: 0, to: time, fill: "var(--load)", text: `${by.kind === "ideal" ? "ideal" : "least"} ${format.time(time)}` },
    { from: time, to: job.takes, fill: "var(--loss)", text: `lost ${format.time(job.takes - time)}` },
  ];
  return figure({
    id: "split",
    heading: "h2",
    title: "Of the time, this is lost",
    says: `The least that any run took is ${format.time(time)} (${by.name}).`,
    draw: (width) =>
      Plot.plot({
        width, height: fixed === null ? 92 : 116, marginLeft: 20, marginRight: 20, marginTop: fixed === null ? 4 : 28, marginBottom: 36,
        x: { domain: [0, end], label: null, tickFormat: (t) => format.time(t), ticks: width < 560 ? 4 : 8 },
        y: { domain: [0, 1], axis: null },
        marks: [
          Plot.rect(parts, { x1: "from", x2: "to", y1: 0, y2: 1, fill: "fill" }),
          Plot.text(parts.filter((p) => ((p.to - p.from) / end) * width > p.text.length * 8), { x: (p) => (p.from + p.to) / 2, y: 0.5, text: "text", fill: "var(--on)", fontWeight: 600, fontSize: 14 }),
          fixed === null ? null : Plot.ruleX([fixed], { stroke: "var(--gain)", strokeWidth: 3, insetTop: -8 }),
          fixed === null ? null : Plot.text([fixed], { x: (t) => t, y: 1, dy: -10, lineAnchor: "bottom", textAnchor: fixed > end / 2 ? "end" : "start", text: () => `with the best fix ${format.time(fixed)}`, fill: "var(--gain)", fontWeight: 600, fontSize: 12.5 }),
        ],
      }),
    label: () => `${parts.map((p) => p.text).join(", ")}${fixed === null ? "" : `; with the best fix ${format.time(fixed)}`}.`,
    table: () => ({
      caption: "The time, the least, and what the best fix leaves",
      columns: ["what", "takes"],
      rows: [
        ["as described", cell("time", job.takes, "job_times_ns/0")],
        [by.name, cell("time", time, `${by.of}/job_times_ns/0`)],
        ...(fixed === null ? [] : [[fix.name, cell("time", fixed, `${fix.of}/job_times_ns/0`)]]),
      ],
    }),
  });
}

export function verdict(r) {
  const { title, below } = words(r);
  const first = r.json.causes[0];
  const fix = bestFix(r);
  const sentences = below.map((s) => h("p", { class: "lead" }, format.joined(s)));
  if (!r.diagnosed)
    sentences.push(h("p", { class: "lead" }, "What it loses, and to what, was not worked out: the run has no counterfactuals (--no-diagnosis, or it was stopped). The page shows what happened."));
  if (first) sentences.push(h("p", { class: "lead" }, h("b", {}, "What costs most: "), format.joined(`${first.what}.`)));
  if (fix && fix.gain !== null) sentences.push(h("p", { class: "lead" }, h("b", {}, "Best fix tried: "), `${fix.name}. `, h("span", { class: "good" }, `${format.share(fix.gain)} less time`), r.jobs.length === 1 && fix.job_times_ns[0] !== null ? `: it would take ${format.time(fix.job_times_ns[0])}.` : " (geometric mean of the jobs)."));
  else if (fix) sentences.push(h("p", { class: "lead" }, h("b", {}, "Best fix tried: "), `${fix.name}. Then it ends.`));
  else if (r.cases.some((c) => c.kind === "fix")) sentences.push(h("p", { class: "lead" }, "None of the fixes that were tried makes it faster."));
  return { title: format.joined(title), sentences, causes: causes(r), bar: bar(r) };
}
