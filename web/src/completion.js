// How long flows took: all of them as a distribution, and by size against what the bytes alone would take.
import * as Plot from "@observablehq/plot";
import { cell, figure } from "./dom.js";
import * as format from "./format.js";

const DOTS = 4000;

/* Nearest rank, as the JSON's p50_ns and p99_ns. */
const percentile = (sorted, p) => sorted[Math.min(Math.max(Math.ceil((p / 100) * sorted.length), 1), sorted.length) - 1];

const wide = (values) => values.length > 0 && values[values.length - 1] / Math.max(values[0], 1e-3) > 20;

/* Points of an empirical distribution, at most some hundreds. */
function steps(sorted) {
  const n = sorted.length;
  const every = Math.max(Math.floor(n / 600), 1);
  const points = [{ x: sorted[0], y: 0 }];
  for (let i = 0; i < n; i++) if (i % every === every - 1 || i === n - 1) points.push({ x: sorted[i], y: (i + 1) / n });
  return points;
}

function cdf(r, done, sizes) {
  const slow = done.map((f) => f.slowdown ?? 1).sort((a, b) => a - b);
  const sorted = done.map((f) => f.takes).sort((a, b) => a - b);
  const marks = [50, 99, 100].map((p) => ({ p, name: p === 100 ? "slowest" : `p${p}`, x: percentile(sorted, p), y: p / 100 }));
  const all = r.flows.length;
  /* words stand right of their dot and below it, where the curve is not; the last two under each other */
  const [p50, p99, top] = marks;
  const same = p99.x > 0.97 * top.x;
  const words = same ? [p50, top] : [p50, { ...p99, dy: 20 }, top];
  return figure({
    id: "completion",
    title: "How long flows took",
    says: `Half of the flows that finished took ${format.time(marks[0].x)} or less, 99% took ${format.time(marks[1].x)} or less, the slowest ${format.time(marks[2].x)}.` +
      (done.length < all ? ` ${format.count(all - done.length)} of ${format.count(all)} did not finish: they are not in the picture.` : "") +
      (sizes === 1 ? ` All have ${format.bytes(done[0].bytes)}. At the median that is ${format.times(percentile(slow, 50))} what a flow takes on an empty network.` : ""),
    draw: (width) =>
      Plot.plot({
        width, height: 300, marginLeft: 44, marginRight: 122, marginTop: 24, marginBottom: 40,
        x: { type: wide(sorted) ? "log" : "linear", label: "completion time →", tickFormat: (t) => format.time(t), ticks: width < 560 ? 2 : 6 },
        y: { domain: [0, 1], label: "share of flows", tickFormat: (v) => `${Math.round(100 * v)}%`, grid: true, ticks: 5 },
        marks: [
          Plot.line(steps(sorted), { x: "x", y: "y", curve: "step-after", stroke: "var(--load)", strokeWidth: 2 }),
          Plot.dot(marks, { x: "x", y: "y", fill: "var(--ink)", r: 3.5 }),
          ...words.map((m) => Plot.text([m], { x: "x", y: "y", text: () => `${m.name} ${format.time(m.x)}`, textAnchor: "start", dx: 8, dy: m.dy ?? 4, lineAnchor: "top", fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 5, fontWeight: 600, fontSize: 12 })),
        ],
      }),
    label: () => `Distribution of completion times. ${marks.map((m) => `${m.name}: ${format.time(m.x)}`).join(", ")}.`,
    table: () => ({
      caption: `Flows, the slowest first. Slowdown is the completion time over the flow's time on an empty network, by a closed form`,
      columns: ["flow", "from", "to", "bytes", "start", "took", "alone", "slowdown", "goodput"],
      rows: [...r.flows].sort((a, b) => (b.takes ?? Infinity) - (a.takes ?? Infinity)).map((f) => [
        `#${f.id}`, r.fabric.endpoints[f.src].name, r.fabric.endpoints[f.dst].name, cell("bytes", f.bytes, `runs/0/flows/${f.i}/bytes`),
        cell("time", f.start_ns, `runs/0/flows/${f.i}/start_ns`), f.takes === null ? "did not finish" : cell("time", f.takes, `took:${f.i}`), cell("time", f.alone_ns, `runs/0/flows/${f.i}/alone_ns`), f.slowdown === null ? "—" : cell("times", f.slowdown, `runs/0/flows/${f.i}/slowdown`), f.takes === null ? "—" : cell("gbps", f.goodput_gbps, `runs/0/flows/${f.i}/goodput_gbps`),
      ]),
    }),
  });
}

/* Flows of like size together: up to 12 groups between powers. */
function groups(done) {
  const by = new Map();
  const least = Math.min(...done.map((f) => f.bytes)), top = Math.max(...done.map((f) => f.bytes));
  const distinct = new Set(done.map((f) => f.bytes)).size;
  const key = (f) => (distinct <= 12 ? f.bytes : Math.min(Math.floor((Math.log(f.bytes / least) / Math.log(top / least)) * 12), 11));
  for (const f of done) by.set(key(f), [...(by.get(key(f)) ?? []), f]);
  return [...by.values()].map((list) => {
    const s = list.map((f) => f.slowdown).sort((a, b) => a - b);
    const b = list.map((f) => f.bytes).sort((x, y) => x - y);
    return { list, from: b[0], to: b[b.length - 1], middle: percentile(b, 50), p50: percentile(s, 50), p99: percentile(s, 99), max: s[s.length - 1], n: s.length };
  }).sort((a, b) => a.from - b.from);
}

function slowdown(r, done) {
  const g = groups(done);
  const top = Math.max(...done.map((f) => f.slowdown));
  const worst = g.reduce((a, b) => (b.p50 > a.p50 ? b : a));
  const many = done.length > DOTS;
  const which = (x) => (x.from === x.to ? format.bytes(x.from) : `${format.bytes(x.from)} to ${format.bytes(x.to)}`);
  return figure({
    id: "slowdown",
    title: "Slowdown by size",
    says: `1 is the time on an empty network, by a closed form; queues, pauses, cuts and losses add to it. ` +
      `Flows of ${which(worst)} are slowed down most: ${format.times(worst.p50)} at the median.`,
    draw: (width) =>
      Plot.plot({
        width, height: 300, marginLeft: 62, marginRight: 48, marginTop: 24, marginBottom: 40,
        x: { type: "log", label: "bytes of the flow →", tickFormat: (b) => format.bytes(b), ticks: width < 560 ? 3 : 6, nice: true },
        y: { type: top > 20 ? "log" : "linear", domain: [top > 20 ? Math.min(1, ...done.map((f) => f.slowdown)) : 0, top * 1.08], label: "times longer", grid: true, ticks: 5, tickFormat: (v) => format.count(Number(v.toPrecision(3))) },
        marks: [
          Plot.ruleY([1], { stroke: "var(--ink)", strokeDasharray: "3,3" }),
          many ? null : Plot.dot(done, { x: "bytes", y: "slowdown", r: 2, fill: "var(--load)", fillOpacity: 0.35 }),
          ...["p50", "p99"].flatMap((p) => [
            Plot.line(g, { x: "middle", y: p, stroke: p === "p50" ? "var(--load)" : "var(--queue)", strokeWidth: 2 }),
            Plot.dot(g, { x: "middle", y: p, fill: p === "p50" ? "var(--load)" : "var(--queue)", r: 3.5 }),
            Plot.text(g.slice(-1), { x: "middle", y: p, text: () => p, dx: 8, dy: p === "p50" ? 6 : -6, textAnchor: "start", fill: "var(--ink)", fontWeight: 600, fontSize: 12 }),
          ]),
        ],
      }),
    label: () => `Slowdown by size of flow. ${g.map((x) => `${which(x)}: median ${format.times(x.p50)}, p99 ${format.times(x.p99)}`).join("; ")}.`,
    table: () => ({
      caption: "Slowdown by size; the figures are those of the flows' table, by nearest rank",
      columns: ["sizes", "flows", "median", "p99", "worst"],
      rows: g.map((x) => [which(x), cell("count", x.n, `sizes:n:${x.from}:${x.to}`), cell("times", x.p50, `sizes:50:${x.from}:${x.to}`), cell("times", x.p99, `sizes:99:${x.from}:${x.to}`), cell("times", x.max, `sizes:100:${x.from}:${x.to}`)]),
    }),
  });
}

export function completion(r) {
  const done = r.flows.filter((f) => f.takes !== null);
  const known = done.filter((f) => f.slowdown !== null); /* none of a transport without a closed form */
  const sizes = (list) => new Set(list.map((f) => f.bytes)).size;
  return done.length ? [cdf(r, done, sizes(done)), ...(sizes(known) > 1 ? [slowdown(r, known)] : [])] : [];
}
