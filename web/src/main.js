// The page, from the report in it: the verdict first, then what holds the run back, where, and every figure.
import { cell, folded, h, redraw, table } from "./dom.js";
import * as format from "./format.js";
import { domain, gains } from "./bars.js";
import * as compare from "./compare.js";
import { completion } from "./completion.js";
import { heat } from "./heat.js";
import { digest, source } from "./report.js";
import { ranks, step } from "./step.js";
import { topology } from "./topology.js";
import { verdict } from "./verdict.js";

const section = (id, title, ...children) => h("section", { id, "aria-labelledby": `${id}-h` }, h("h2", { id: `${id}-h` }, title), ...children);

const LABELS = {
  data_packets: "data packets sent", packets_sent: "packets of all kinds sent", packets_delivered: "packets delivered", packets_in_flight: "packets in flight at the end",
  packet_hops: "links that data packets crossed", ack_hops: "links that ACKs, NAKs and CNPs crossed", events: "events of the engine", drops: "packets dropped", link_losses: "packets lost on links",
  ecn_marked: "packets marked (ECN)", data_marked: "data packets that arrived marked", ecn_marked_again: "marks that packets had already", trimmed: "packets cut to their headers (trimmed)", credits: "credits sent by receivers", ack_packets: "ACKs sent", naks: "NAKs that senders heard",
  cnps: "congestion notification packets (CNPs)", cc_cuts: "rate cuts", cc_increases: "rate increases",
  pauses: "pauses (PFC)", nic_pauses: "of them by NICs", retransmits: "packets sent again", reordered: "of them for order alone", timeouts: "timeouts",
  max_queue_bytes: "longest queue of a switch port", max_buffer_bytes: "fullest buffer of a switch",
};

function counters(r) {
  const c = r.base.counters;
  const rows = Object.keys(c).map((k) => [LABELS[k] ?? k, cell(k.endsWith("_bytes") ? "bytes" : "count", c[k], `runs/0/counters/${k}`)]);
  return table("Counters of the whole run", ["what", "value"], rows);
}

function jobs(r) {
  const known = (as, x, of) => (x > 0 ? cell(as, x, of) : "—");
  const sized = r.jobs.some((j) => j.kind !== "flows");
  const sizes = (j) => (!sized ? [] : j.kind === "flows" ? ["—", "—", "—"] : [cell("bytes", j.bytes, `${j.of}/bytes`), cell("bandwidth", j.algbw_gbps, `${j.of}/algbw_gbps`), cell("bandwidth", j.busbw_gbps, `${j.of}/busbw_gbps`)]);
  const rows = r.jobs.map((j) => [
    j.name ?? "—", j.kind === "flows" ? "flows" : `${j.op}, ${j.algorithm}`, cell("time", j.start_ns, `${j.of}/start_ns`),
    j.finish_ns === null ? "did not finish" : cell("time", j.finish_ns, `${j.of}/finish_ns`), j.takes === null ? "—" : cell("time", j.takes, `job_times_ns/${j.i}`),
    known("time", j.alone_ns, `${j.of}/alone_ns`), known("times", j.slowdown, `${j.of}/slowdown`), known("gbps", j.goodput_gbps, `${j.of}/goodput_gbps`), known("share", j.share, `${j.of}/share`),
    ...sizes(j),
  ]);
  return [
    h("p", { class: "says" }, "A job takes the time of a training step, of one repetition of a collective, or from the first flow's start to the last one's end. Alone is without the other jobs. Its share is of what the fullest NIC port allows."),
    table("Jobs", ["job", "kind", "start", "finish", "takes", "alone", "slowdown", "goodput", "share", ...(sized ? ["size", "algorithm bandwidth", "bus bandwidth"] : [])], rows),
  ];
}

function lost(r) {
  const b = r.base;
  const out = [];
  if (b.drops.length)
    out.push(table("Where packets were dropped", ["place", "to", "why", "class", "packets"], b.drops.map((d, i) => [d.place, d.to || "—", d.why, String(d.class ?? "—"), cell("count", d.packets, `runs/0/drops/${i}/packets`)])));
  if (b.pauses.length)
    out.push(table("Who paused whom", ["paused by", "held", "waited for", "begins at", "class", "PAUSE frames", "held for"], b.pauses.map((p, i) => [p.by, p.held, p.waited_for || "—", p.root || "—", String(p.class), cell("count", p.frames, `runs/0/pauses/${i}/frames`), cell("time", p.time_ns, `runs/0/pauses/${i}/time_ns`)])));
  if (b.failures.length)
    out.push(table("Queue pairs that ended in error", ["from", "to", "status", "place", "packets lost"], b.failures.map((f, i) => [r.fabric.endpoints[f.src].name, r.fabric.endpoints[f.dst].name, String(f.status), f.place || "—", cell("count", f.lost, `runs/0/failures/${i}/lost`)])));
  return out;
}

function latency(r) {
  const keys = ["p50", "p90", "p99", "p99_9", "p99_99", "max", "mean"];
  const names = ["p50", "p90", "p99", "p99.9", "p99.99", "longest", "mean"];
  const rows = r.series.latency.map((l, i) => [`class ${l.class}`, cell("count", l.ns.samples, `runs/0/series/latency/${i}/ns/samples`), ...keys.map((k) => cell("time", l.ns[k], `runs/0/series/latency/${i}/ns/${k}`))]);
  const queues = r.ports.flatMap((p) => (r.series.ports[p.i].classes ?? []).flatMap((c, k) => (c.queue ? [{ p, c, at: `runs/0/series/ports/${p.i}/classes/${k}/queue` }] : [])));
  queues.sort((a, b) => b.c.queue.p99 - a.c.queue.p99 || b.c.queue.max - a.c.queue.max);
  return [
    rows.length ? table("How long data packets took from NIC to NIC, 1 in 16", ["class", "packets", ...names], rows) : null,
    queues.length ? folded(`Table: percentiles of queues (${format.plural(queues.length, "queue")})`, () =>
      table("Queues of switches by class: bytes behind each packet at ports named in observe.exact, else bytes waiting at the ends of bins", ["port, to its peer", "class", "samples", ...names],
        queues.map(({ p, c, at }) => [p.name, String(c.class), cell("count", c.queue.samples, `${at}/samples`), ...keys.map((k) => cell("bytes", c.queue[k], `${at}/${k}`))]))) : null,
  ].filter(Boolean);
}

function save(text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  h("a", { href: url, download: "ripstop.json" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function facts(r) {
  const f = r.fabric;
  const e = r.json.engine;
  return h("dl", { class: "facts" }, [
    ["Scenario", r.json.scenario], ["Network", `${format.plural(f.hosts.length, "host")}, ${format.plural(f.gpus, "GPU")}, ${format.plural(f.endpoints.length, "NIC port")}, ${format.plural(f.switches.length, "switch", "switches")}`],
    ["Path MTU", `${f.mtu} bytes`], ["PFC", f.pfc ? "on" : "off"], ["Seeds", r.json.seeds === 1 ? `1 (${r.json.seed})` : `${r.json.seeds}, from ${r.json.seed} on`],
    ["Virtual time", format.time(r.base.sim_time_ns)], ["Computed in", `${e.wall_s.toPrecision(3)} s (${format.plural(r.json.runs.length, "run")})`], ["Ripstop", r.about.version],
  ].map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, v))));
}

function held(r, v) {
  const cases = r.cases.filter((c) => c.kind === "counterfactual" || c.kind === "ideal" || c.kind === "without");
  const fixes = r.cases.filter((c) => c.kind === "fix");
  const scale = domain([...cases, ...fixes]);
  return [
    cases.length || v.causes ? section("causes", "What holds it back",
      v.causes ?? h("p", { class: "says" }, "Nothing worth a name is lost."),
      cases.length ? gains({ id: "ideal", title: "The same run with one thing made ideal", says: "The bar is the time saved, the line its 95% interval over seeds. Grey: more than one thing is ideal. Shares need not add up: what one fault hides another shows.", cases, scale, jobs: r.jobs.length, colour: "load" }) : null) : null,
    fixes.length ? section("fixes", "What each fix gives", gains({ id: "fix", title: "The same run with one change that can be made", says: "From the scenario's what-if list, or proposed by Ripstop. The scale is that of the picture above.", cases: fixes, scale, jobs: r.jobs.length, colour: "gain" })) : null,
  ];
}

function compose(r, text) {
  const v = verdict(r);
  const time = [...completion(r), ...r.jobs.filter((j) => j.kind === "train" && j.done).map(step), ...r.jobs.filter((j) => j.kind !== "flows").slice(0, 8).map((j) => ranks(r, j))].filter(Boolean);
  document.title = `${v.title} – ${r.title}`;
  const sections = [
    ...held(r, v),
    section("where", "Where: the network", topology(r)),
    section("when", "When: over time", heat(r)),
    time.length ? section("took", "How long things took", ...time) : null,
    section("numbers", "Every figure", ...jobs(r), ...lost(r), counters(r), ...latency(r),
      r.json.unknown.length ? h("div", {}, h("h3", {}, "Not said by the description"), h("ul", {}, r.json.unknown.map((u) => h("li", {}, u)))) : null),
    section("whole", "The report", h("p", { class: "says" }, "What the terminal shows, and the JSON that this page was drawn from."),
      h("button", { type: "button", onclick: () => save(text) }, "Save the JSON"), folded("The report as the terminal shows it", () => h("pre", { tabindex: "0", role: "region", "aria-label": "The report as the terminal shows it" }, r.about.text))),
  ].filter(Boolean);
  return [
    h("header", {}, h("p", { class: "brand" }, h("b", {}, "Ripstop"), " ", r.title),
      r.fabric.about ? h("p", { class: "about" }, r.fabric.about) : null),
    h("main", {},
      h("div", { id: "verdict", tabindex: "-1" }, h("h1", {}, v.title), v.sentences, v.bar),
      h("nav", { "aria-label": "Parts of this page" }, sections.map((s) => h("a", { href: `#${s.id}` }, s.querySelector("h2").textContent))),
      sections),
    h("footer", {}, facts(r)),
  ];
}

async function start() {
  const page = document.getElementById("page");
  try {
    const text = await source("report");
    const json = JSON.parse(text);
    const about = JSON.parse(await source("about"));
    page.append(...(json.schema.startsWith("ripstop-compare/") ? compare.compose(json, about, text, { section, save }) : compose(digest(json, about), text)));
    redraw();
    new ResizeObserver(redraw).observe(page);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    requestAnimationFrame(() => requestAnimationFrame(() => (document.documentElement.dataset.ready = "yes")));
  } catch (e) {
    page.append(h("p", { class: "lead", role: "alert" }, `This page could not be drawn: ${e.message}. A browser of 2023 or later draws it; the report itself is what ripstop sim --json writes.`));
    throw e;
  }
}
start();
