// The training step as a timeline, and what the ranks of a collective waited for.
import * as Plot from "@observablehq/plot";
import { cell, choice, figure, fit, h } from "./dom.js";
import * as format from "./format.js";
import { ramp } from "./colour.js";

const ROWS = 64;

/* Compute and the gradients' way, as one step has them: what compute hides and what it does not. */
export function step(job) {
  const hidden = job.communication_ns - job.exposed_ns;
  const bars = [
    { row: 0, from: 0, to: job.compute_ns, fill: "var(--load)", text: `compute ${format.time(job.compute_ns)}` },
    { row: 1, from: job.step_ns - job.communication_ns, to: job.compute_ns, fill: "var(--hidden)", text: `hidden ${format.time(hidden)}` },
    { row: 1, from: job.compute_ns, to: job.step_ns, fill: "var(--loss)", text: `exposed ${format.time(job.exposed_ns)}` },
  ].filter((b) => b.to > b.from);
  const narrow = (width) => {
    const list = bars.filter((b) => b.row === 1 && !fits(b, width));
    const at = Math.min(...bars.filter((b) => b.row === 1).map((b) => b.from)), text = list.map((b) => b.text).join(", ");
    return list.length && (at / job.step_ns) * width > text.length * 7 ? [{ at, text }] : [];
  };
  const fits = (b, width) => ((b.to - b.from) / job.step_ns) * width > b.text.length * 7;
  return figure({
    id: `step-${job.i}`,
    title: `The training step of “${job.name}”`,
    says: `A step takes ${format.time(job.step_ns)}: ${format.time(job.compute_ns)} of computing, then ${format.time(job.exposed_ns)} in which GPUs wait for gradients. Of ${format.time(job.communication_ns)} of communication, ${format.time(hidden)} hides under computing. It is drawn as late as it can be.`,
    draw: (width) =>
      Plot.plot({
        width, height: 148, marginLeft: 20, marginRight: 20, marginTop: 6, marginBottom: 38,
        x: { domain: [0, job.step_ns], label: "time of the step →", tickFormat: (t) => format.time(t), ticks: width < 560 ? 4 : 8 },
        y: { type: "band", domain: [0, 1], axis: null, padding: 0.12 },
        marks: [
          Plot.barX(bars, { x1: "from", x2: "to", y: "row", fill: "fill", rx: 3 }),
          Plot.text(bars.filter((b) => fits(b, width)), { x: (b) => (b.from + b.to) / 2, y: "row", text: "text", fill: "var(--on)", fontWeight: 600, fontSize: 13 }),
          /* what is too narrow for its words has them beside it, where there is room */
          Plot.text(narrow(width), { x: "at", y: 1, text: "text", dx: -6, textAnchor: "end", fill: "var(--ink)", fontSize: 13 }),
          Plot.ruleX([job.step_ns], { stroke: "var(--ink)" }),
        ],
      }),
    label: () => `One training step: ${bars.map((b) => b.text).join(", ")}; in all ${format.time(job.step_ns)}.`,
    table: () => ({
      caption: "The step, and what of it ran packet by packet",
      columns: ["what", "value"],
      rows: [
        ["step", cell("time", job.step_ns, `${job.of}/step_ns`)],
        ["compute", cell("time", job.compute_ns, `${job.of}/compute_ns`)],
        ["communication, all of it", cell("time", job.communication_ns, `${job.of}/communication_ns`)],
        ["exposed communication", cell("time", job.exposed_ns, `${job.of}/exposed_ns`)],
        ["compute's share of the step", cell("share", job.efficiency, `${job.of}/efficiency`)],
        ["gradient buckets, simulated", cell("count", job.simulated_buckets, `${job.of}/simulated_buckets`)],
        ["gradient buckets, in all", cell("count", job.buckets, `${job.of}/buckets`)],
      ],
    }),
  });
}

/* Per rank of a job: time in a kind of span, bin by bin, summed over its lanes. */
function worked(r, job, kind) {
  const spans = r.series.spans.filter((s) => s.job === job.i && s.kind === kind);
  const { bins, interval_ns: interval } = r.series;
  const ranks = new Map();
  for (const s of spans) {
    let x = ranks.get(s.rank);
    if (!x) ranks.set(s.rank, (x = { rank: s.rank, total: 0, lanes: new Set(), row: new Float64Array(bins) }));
    x.lanes.add(s.lane);
    x.total += s.to_ns - s.from_ns;
    const last = Math.min(Math.floor(s.to_ns / interval), bins - 1);
    for (let b = Math.min(Math.floor(s.from_ns / interval), bins - 1); b <= last; b++)
      x.row[b] += Math.max(Math.min(s.to_ns, r.binTo(b)) - Math.max(s.from_ns, r.binFrom(b)), 0);
  }
  const hosts = r.fabric.rank_hosts[job.i];
  return [...ranks.values()].map((x) => ({ ...x, n: x.lanes.size, host: r.fabric.hosts[hosts[x.rank]] })).sort((a, b) => a.rank - b.rank);
}

const title = (x) => `rank ${x.rank} (${x.host})`;

export function ranks(r, job) {
  const kinds = ["wait", "compute"].map((kind) => ({ kind, rows: worked(r, job, kind) })).filter((k) => k.rows.some((x) => x.total > 0));
  if (!kinds.length) return null;
  let now = kinds[0];
  const words = { wait: "waited", compute: "computed" };
  const shown = () => (now.rows.length > ROWS ? [...now.rows].sort((a, b) => b.total / b.n - a.total / a.n).slice(0, ROWS) : now.rows);
  const extreme = () => {
    const s = [...now.rows].sort((a, b) => b.total / b.n - a.total / a.n);
    return { most: s[0], least: s[s.length - 1] };
  };
  const says = h("p", { class: "says", "aria-live": "polite" });
  const tell = () => {
    const { most, least } = extreme();
    says.textContent = `${title(most)} ${words[now.kind]} longest, ${format.time(most.total / most.n)} a lane; ${title(least)} shortest, ${format.time(least.total / least.n)}. Dark: all of its lanes ${now.kind === "wait" ? "waited for what their next step needs" : "computed"}; pale: none did.${now.rows.length > ROWS ? ` The ${ROWS} ranks with the most of ${format.count(now.rows.length)}.` : ""}`;
  };
  const draw = (width) => {
    tell();
    const rows = shown();
    const colour = ramp(now.kind === "wait" ? "lost" : "load");
    const cells = rows.flatMap((x, y) => Array.from(x.row, (v, b) => ({ v: v / (x.n * r.binLength(b)), b, y, x })).filter((c) => c.v > 0.005));
    const pitch = rows.length > 24 ? 9 : 17;
    /* where rows are thin one name stands for the ranks of a host */
    const named = rows.map((x, y) => ({ x, y })).filter(({ x, y }) => pitch > 12 || y === 0 || rows[y - 1].host !== x.host).filter(({ y }, k, list) => pitch > 12 || k === 0 || y - list[k - 1].y >= 2);
    const left = width < 560 ? 84 : 110;
    return Plot.plot({
      width, height: rows.length * pitch + 46, marginLeft: left, marginRight: 26, marginTop: 6, marginBottom: 38,
      x: { domain: [0, r.base.sim_time_ns || 1], label: "virtual time →", tickFormat: (t) => format.time(t), ticks: width < 560 ? 3 : 7 },
      y: { type: "band", domain: rows.map((_, i) => i), axis: null, padding: pitch > 12 ? 0.12 : 0.05 },
      marks: [
        Plot.barX(rows, { x1: 0, x2: r.base.sim_time_ns || 1, y: (_, i) => i, fill: "var(--none)" }),
        Plot.barX(cells, { x1: (c) => r.binFrom(c.b), x2: (c) => r.binTo(c.b), y: "y", fill: (c) => colour(c.v), insetLeft: -0.2, insetRight: -0.2, title: (c) => `${title(c.x)}\n${format.time(r.binFrom(c.b))} to ${format.time(r.binTo(c.b))}: ${format.share(Math.min(c.v, 1))} of its lanes' time`, tip: true }),
        Plot.text(named, { x: 0, y: "y", dx: -6, text: ({ x }) => fit(pitch > 12 ? title(x) : x.host, left - 8, 11), textAnchor: "end", fill: "var(--ink)", fontSize: 11 }),
      ],
    });
  };
  const f = figure({
    id: `ranks-${job.i}`,
    title: `What the ranks of “${job.name}” did`,
    controls: kinds.length > 1 ? [choice("Show", kinds.map((k) => [k.kind, k.kind === "wait" ? "waiting" : "computing"]), (id) => { now = kinds.find((k) => k.kind === id); f.paint(); })] : undefined,
    draw,
    label: () => `Time that each rank ${words[now.kind]}. ${says.textContent}`,
    after: says,
    table: () => ({
      caption: "Time of each rank, added over its lanes; a lane is one of its connections in the plan",
      columns: ["rank", "lanes", ...kinds.map((k) => words[k.kind])],
      rows: kinds[0].rows.map((x) => [title(x), cell("count", x.n, `lanes:${kinds[0].kind}:${job.i}:${x.rank}`), ...kinds.map((k) => cell("time", k.rows.find((y) => y.rank === x.rank)?.total ?? 0, `spans:${k.kind}:${job.i}:${x.rank}`))]),
    }),
  });
  return f;
}
