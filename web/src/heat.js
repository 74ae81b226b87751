// What happened over time, a row a thing: queues, load, pauses, marks and drops of ports; rates of connections.
import * as Plot from "@observablehq/plot";
import { cell, choice, figure, fit, h } from "./dom.js";
import * as format from "./format.js";
import { ramp } from "./colour.js";

const ROWS = 40;
const QUEUE = 100e3; /* bytes: what stands below it is no queue worth looking at first */
const FEW = 6; /* rows that are shown although they have next to nothing */
const most = (row) => row.reduce((a, b) => Math.max(a, b), 0);
const sum = (row) => row.reduce((a, b) => a + b, 0);

/* A measure: rows of [{name, row}], how a value is shown, the colour, what its worst is called. */
function measures(r) {
  const { bins } = r.series;
  const zero = new Array(bins).fill(0);
  const lengths = zero.map((_, b) => r.binLength(b));
  const use = (row, bps) => row.map((v, b) => (bps > 0 ? (v * 8e9) / (bps * lengths[b]) : 0));
  const port = (id, name, colour, as, total, fold, key, value, row = (p) => p.rows[key]) => ({
    id, name: `Ports: ${name}`, colour, as, total, fold, all: r.ports.length,
    rows: () => r.ports.filter((p) => p.rows).map((p) => ({ name: p.name, row: row(p), value: p[value] })),
  });
  const followed = (key) => r.series.followed.map((f) => ({ name: f.name, row: f[key] ?? zero }));
  const list = [
    { ...port("queue", "longest queue", "queue", "bytes", "longest", most, "queue", "peak"), floor: QUEUE },
    { ...port("load", "load", "load", "share", "over the run", undefined, "bytes", "load", (p) => use(p.rows.bytes, p.rate)), top: 1 },
    { ...port("paused", "held by pauses (PFC)", "pause", "time", "in all", sum, "paused", "pausedNs"), floor: r.series.interval_ns },
    port("marks", "packets marked (ECN)", "queue", "count", "in all", sum, "marks", "marked"),
    port("drops", "packets dropped", "lost", "count", "in all", sum, "drops", "dropped"),
    port("lost", "packets lost on the link", "lost", "count", "in all", sum, "lost", "lost"),
    { id: "inside", name: "Inside hosts: links taken", colour: "load", as: "share", top: 1, total: "over the run", rows: () => r.inside.map((l) => ({ name: l.name, row: (l.busy ?? zero).map((v, b) => v / lengths[b]), value: l.load })) },
    { id: "rate", name: "Connections: rate allowed", colour: "load", as: "rate", total: "most", fold: most, rows: () => followed("rate") },
    { id: "flight", name: "Connections: bytes in flight", colour: "queue", as: "bytes", total: "most", fold: most, rows: () => followed("in_flight_bytes") },
    { id: "resent", name: "Connections: packets sent again", colour: "lost", as: "count", total: "in all", fold: sum, rows: () => followed("resent") },
  ];
  return list;
}

function prepared(m) {
  if (!m.ready) {
    m.ready = m.rows().map((x) => ({ ...x, value: x.value ?? m.fold(x.row), most: most(x.row) }));
    m.ready.sort((a, b) => b.value - a.value || b.most - a.most);
  }
  return m.ready;
}

export function heat(r) {
  const all = measures(r);
  for (const m of all) m.some = prepared(m).some((x) => x.value > 0);
  const options = all.filter((m) => prepared(m).length).map((m) => [m.id, m.some ? m.name : `${m.name} (none)`]);
  /* what a reader should see first: queues, else what was lost or held, else load, else what there is */
  const measure = (id) => all.find((m) => m.id === id);
  const worth = { queue: QUEUE, drops: 1, lost: 1, paused: 1 };
  let now = measure(Object.keys(worth).find((id) => prepared(measure(id)).some((x) => x.value >= worth[id])) ?? (measure("load").some ? "load" : all.find((m) => m.some)?.id ?? "load"));
  let filter = "";
  const matching = () => prepared(now).filter((x) => x.name.toLowerCase().includes(filter));
  const says = h("p", { class: "says", "aria-live": "polite" });
  const scale = h("p", { class: "scale" });

  const draw = (width) => {
    const top = now.top ?? Math.max(...matching().map((x) => x.most), now.floor ?? 1e-9);
    const rows = matching().filter((x, i) => x.value > 0 && (i < FEW || x.most >= top / 100)).slice(0, ROWS);
    const colour = ramp(now.colour);
    const left = width < 560 ? 112 : 190;
    const cells = rows.flatMap((x, y) => x.row.flatMap((v, b) => (v > 0 ? [{ v, b, y, name: x.name }] : [])));
    tell(rows, top, colour);
    return Plot.plot({
      width,
      height: Math.max(rows.length, 1) * 17 + 48,
      marginLeft: left,
      marginRight: width < 560 ? 26 : 92,
      marginTop: 6,
      marginBottom: 38,
      style: { overflow: "visible" },
      x: { domain: [0, r.base.sim_time_ns || 1], label: "virtual time →", tickFormat: (t) => format.time(t), ticks: width < 560 ? 3 : 7 },
      y: { type: "band", domain: rows.map((_, i) => i), axis: null, padding: 0.12 },
      marks: [
        Plot.barX(rows, { x1: 0, x2: r.base.sim_time_ns || 1, y: (_, i) => i, fill: "var(--none)" }),
        Plot.barX(cells, { x1: (c) => r.binFrom(c.b), x2: (c) => r.binTo(c.b), y: "y", fill: (c) => colour(c.v / top), insetLeft: -0.2, insetRight: -0.2, title: (c) => `${c.name}\n${format.time(r.binFrom(c.b))} to ${format.time(r.binTo(c.b))}: ${format[now.as](c.v)}`, tip: true }),
        Plot.text(rows, { x: 0, y: (_, i) => i, dx: -6, text: (x) => fit(x.name, left - 8, 11), textAnchor: "end", fill: "var(--ink)", fontSize: 11 }),
        width < 560 ? null : Plot.text(rows, { x: r.base.sim_time_ns || 1, y: (_, i) => i, dx: 6, text: (x) => format[now.as](x.value), textAnchor: "start", fill: "var(--muted)", fontSize: 11 }),
        rows.length ? null : Plot.text([0], { frameAnchor: "middle", text: () => "nothing to show: none in the whole run", fill: "var(--muted)", fontSize: 13 }),
      ],
    });
  };
  function tell(rows, top, colour) {
    const n = matching().length;
    const shown = rows.length;
    says.textContent = shown
      ? `${rows[0].name}: ${format[now.as](rows[0].value)} ${now.total}. ${shown < n ? `Shown are the ${shown} with the most, of ${format.count(n)}${now.all > prepared(now).length ? ` whose course the report has (there are ${format.count(now.all)})` : ""}` : `All ${n}`}${filter ? ` whose name has “${filter}”` : ""}; the number at the right is the ${now.total === "in all" ? "sum over the run" : now.total === "over the run" ? "mean over the run" : now.total}.`
      : filter ? `None whose name has “${filter}” has any.` : "None in the whole run.";
    scale.replaceChildren(`0 `, h("span", { class: "ramp", style: `background:linear-gradient(90deg,${[0, 0.25, 0.5, 0.75, 1].map(colour).join(",")})` }), ` ${format[now.as](top)}${now.top || top === now.floor ? "" : ", the most of those shown"}`);
  }
  const search = h("input", { type: "search", placeholder: "leaf0", size: 10, oninput: (e) => { filter = e.target.value.toLowerCase(); f.paint(); } });
  const pick = choice("Show", options, (id) => {
    now = all.find((m) => m.id === id);
    f.paint();
  });
  pick.querySelector("select").value = now.id;
  const more = {};
  if (r.inside.length)
    more["links inside hosts"] = () => ({
      caption: "Links inside hosts that carried something: the share of the run in which they were taken",
      columns: ["link", "rate", "taken", "carried"],
      rows: [...r.inside].sort((a, b) => b.load - a.load).map((l) => [l.name, cell("rate", l.rate, `runs/0/series/inside/${l.i}/rate`), cell("share", l.load, `inside:${l.i}`), cell("bytes", l.carried, `carried:${l.i}`)]),
    });
  if (r.series.followed.length)
    more["connections"] = () => ({
      caption: `Connections that were followed, ${format.count(r.series.followed.length)} of ${format.count(r.series.connections)}: the most that congestion control allowed the first queue pair, the most in flight at the end of a bin, packets sent again`,
      columns: ["connection", "UDP source port", "most allowed", "most in flight", "sent again"],
      rows: r.series.followed.map((x, i) => [x.name, String(x.udp_source_port), cell("rate", most(x.rate ?? []), `most:rate:${i}`), cell("bytes", most(x.in_flight_bytes ?? []), `most:in_flight_bytes:${i}`), cell("count", sum(x.resent ?? []), `resent:${i}`)]),
    });
  const f = figure({
    id: "heat",
    title: "What stood where, over time",
    controls: [pick, h("label", {}, h("span", {}, "Names that contain"), search), scale],
    draw,
    label: () => `${now.name}, over time. ${says.textContent}`,
    after: says,
    table: () => ({
        caption: "Ports, over the whole run: load is what was sent over what the link carries; the queue is the longest of any class",
        columns: ["port, to its peer", "rate", "load", "sent", "longest queue", "held by pauses", "packets marked", "dropped", "lost on the link"],
        rows: [...r.ports].sort((a, b) => b.load - a.load).map((p) => [
          p.name, cell("rate", p.rate, `runs/0/series/ports/${p.i}/rate`), cell("share", p.load, `load:${p.i}`), cell("bytes", p.sent, `runs/0/series/ports/${p.i}/total_bytes`),
          cell("bytes", p.peak, `runs/0/series/ports/${p.i}/queue_max_bytes`), cell("time", p.pausedNs, `runs/0/series/ports/${p.i}/total_paused_ns`), cell("count", p.marked, `runs/0/series/ports/${p.i}/total_marks`), cell("count", p.dropped, `runs/0/series/ports/${p.i}/total_drops`), cell("count", p.lost, `runs/0/series/ports/${p.i}/total_lost`),
        ]),
      }),
    more,
  });
  return f;
}
