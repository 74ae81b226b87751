// The report of `ripstop sim --json` as the page has it, and what the pictures work out from it.

async function unpack(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(plain).text();
}

/* The JSON in <script id=...>, as text. */
export async function source(id) {
  const e = document.getElementById(id);
  return e.type === "application/gzip" ? unpack(e.textContent) : e.textContent;
}

const sum = (row) => (row ? row.reduce((a, b) => a + b, 0) : 0);

/* A row of a port's classes, added up bin by bin. */
function overClasses(port, key, bins) {
  const total = new Array(bins).fill(0);
  for (const c of port.classes ?? []) if (c[key]) c[key].forEach((v, b) => (total[b] += v));
  return total;
}

/* Of a port the sums of the whole run, and rows over time where it is among those that have them. */
function portFacts(p, i, run) {
  const { bins } = run.series;
  const zero = () => new Array(bins).fill(0);
  return {
    i,
    name: p.name,
    short: p.name.replace(/, to .*/, ""),
    nic: p.nic,
    node: p.node,
    port: p.port,
    rate: p.rate,
    load: run.sim_time_ns > 0 ? (p.total_bytes * 8e9) / (p.rate * run.sim_time_ns) : 0,
    sent: p.total_bytes,
    peak: p.queue_max_bytes,
    pausedNs: p.total_paused_ns,
    marked: p.total_marks,
    dropped: p.total_drops,
    lost: p.total_lost,
    rows: !p.rows ? null : {
      bytes: p.bytes ?? zero(),
      queue: p.queue_peak_bytes ?? zero(),
      paused: overClasses(p, "paused_ns", bins),
      marks: p.marks ?? zero(),
      drops: p.drops ?? zero(),
      lost: p.lost ?? zero(),
    },
  };
}

export function digest(json, about) {
  const base = json.runs[0];
  const s = base.series;
  const diagnosed = json.diagnosis.length > 0;
  const cases = json.diagnosis.map((d, i) => ({ ...d, run: i + 1, of: `diagnosis/${i}` }));
  const r = {
    json,
    about,
    base,
    series: s,
    fabric: json.fabric,
    diagnosed,
    cases,
    jobs: base.jobs.map((j, i) => ({ ...j, i, of: `runs/0/jobs/${i}`, takes: json.job_times_ns[i] })),
    ports: s.ports.map((p, i) => portFacts(p, i, base)),
    inside: s.inside.map((l, i) => ({
      i, name: l.name, rate: l.rate, bytes: l.bytes,
      busy: l.busy_ns, carried: sum(l.bytes),
      load: base.sim_time_ns > 0 ? sum(l.busy_ns) / base.sim_time_ns : 0,
    })),
    binFrom: (b) => b * s.interval_ns,
    binTo: (b) => Math.max(Math.min((b + 1) * s.interval_ns, base.sim_time_ns), b * s.interval_ns),
  };
  r.binLength = (b) => Math.max(r.binTo(b) - r.binFrom(b), 1e-3);
  r.flows = base.flows.map(flowFacts);
  r.title = json.fabric.title || json.scenario;
  return r;
}

function flowFacts(f, i) {
  const takes = f.finish_ns === null ? null : f.finish_ns - f.start_ns;
  return { ...f, i, takes, slowdown: f.slowdown > 0 ? f.slowdown : null };
}

/* ---- What the verdict says ---- */

export const unitOf = (job) =>
  ({ flows: "The flows take", collective: `The ${job.op} takes`, train: "The training step takes" })[job.kind];

/* The least time of a job with less in its way; {time, by}: by undefined where nothing was faster. */
export function least(r, job) {
  let found = { time: r.json.job_times_ns[job], by: undefined };
  for (const c of r.cases) {
    const t = c.job_times_ns[job];
    /* what takes changes of the description besides ("together") is no run with less in its way */
    if (c.kind === "fix" || c.kind === "without" || c.id === "together" || t === null) continue;
    if (found.time === null || t < found.time || (t === found.time && c.kind === "ideal" && found.by)) found = { time: t, by: c };
  }
  return found;
}

/* The run in which a job had the network for itself. */
export const alone = (r, job) =>
  r.cases.find((c) => c.kind === "without" && c.job_times_ns[job] !== null && c.job_times_ns.every((t, k) => k === job || t === null));

export function bestFix(r) {
  const better = (a, b) => (a.ends !== b.ends ? a.ends : (a.gain ?? 0) > (b.gain ?? 0));
  let best;
  for (const c of r.cases) if (c.kind === "fix" && (!best || better(c, best))) best = c;
  const first = r.json.causes[0];
  if (best && first && first.fix !== null) {
    const cure = r.cases[first.fix - 1];
    if (cure && (cure.gain ?? 0) > 0.95 * (best.gain ?? 0)) best = cure;
  }
  if (!best || !best.ends || !best.clear) return undefined;
  return best.gain === null || best.gain > 0.0005 ? best : undefined;
}

export const notFinished = (r) => r.jobs.filter((j) => !j.done);

export function whyNot(job, r) {
  const why = {
    failed: "a queue pair gave up",
    deadlock: `${r.base.deadlock.length} ports wait for each other in a circle (PFC deadlock)`,
    "no-timeout": "a packet was lost, and no timeout mends it",
    stopped: "the run was stopped, by --max-time or by hand",
    stuck: "nothing more happens",
    "left-out": "this run leaves it out",
  };
  return why[job.end] ?? "it did not finish";
}
