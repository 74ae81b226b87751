// What each number of the page must be, worked out anew from the report's JSON: none of the page's code is used.

const sum = (row = []) => row.reduce((a, b) => a + b, 0);
const most = (row = []) => row.reduce((a, b) => (b > a ? b : a), 0);

const rank = (sorted, p) => sorted[Math.min(Math.max(Math.ceil((p / 100) * sorted.length), 1), sorted.length) - 1];

const worked = {
  load: (j, i) => (j.ports[i].total_bytes * 8) / j.ports[i].rate / (j.run.sim_time_ns / 1e9),
  inside: (j, i) => sum(j.series.inside[i].busy_ns) / j.run.sim_time_ns,
  carried: (j, i) => sum(j.series.inside[i].bytes),
  most: (j, key, i) => most(j.series.followed[i][key]),
  resent: (j, i) => sum(j.series.followed[i].resent),
  took: (j, i) => j.run.flows[i].finish_ns - j.run.flows[i].start_ns,
  lanes: (j, kind, job, r) => new Set(spans(j, kind, job, r).map((s) => s.lane)).size,
  spans: (j, kind, job, r) => sum(spans(j, kind, job, r).map((s) => s.to_ns - s.from_ns)),
  sizes: (j, what, from, to) => {
    const of = j.run.flows.filter((f) => f.finish_ns !== null && f.bytes >= from && f.bytes <= to && f.slowdown > 0);
    const s = of.map((f) => f.slowdown).sort((a, b) => a - b);
    return what === "n" ? s.length : rank(s, Number(what));
  },
};

function spans(j, kind, job, r) {
  return j.series.spans.filter((s) => s.kind === kind && s.job === Number(job) && s.rank === Number(r));
}

/* The value that `of` names. */
export function expected(json, of) {
  if (!of.includes(":")) return of.split("/").reduce((at, key) => at[key], json);
  const [name, ...args] = of.split(":");
  const run = json.runs[0];
  return worked[name]({ run, series: run.series, ports: run.series.ports }, ...args);
}

const units = {
  time: { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 },
  bytes: { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, PB: 1e15 },
  rate: { "b/s": 1, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9, "Tb/s": 1e12 },
  gbps: { "b/s": 1e-9, "kb/s": 1e-6, "Mb/s": 1e-3, "Gb/s": 1, "Tb/s": 1e3 },
  bandwidth: { "GB/s": 1 },
  times: { times: 1 },
  seconds: { ns: 1e-9, µs: 1e-6, ms: 1e-3, s: 1 },
  count: { "": 1 },
  share: { "%": 0.01 },
};

/* Undefined where the text says the value to the digits that it shows; else what is wrong. */
export function differs(as, text, value) {
  if (value === null) return text === "—" ? undefined : `${text}, but there is none`;
  if (text === "0" && value === 0) return undefined;
  const m = /^(-?[\d,.]+(?:e[+-]?\d+)?) ?([^\d]*)$/.exec(text);
  const unit = m && units[as][m[2]];
  if (!unit) return `'${text}' is not a number with a unit of ${as}`;
  const digits = m[1].replaceAll(",", "");
  const exponent = Number(/e(.*)/.exec(digits)?.[1] ?? 0);
  const places = /\.(\d*)/.exec(digits)?.[1].length ?? 0;
  /* a value that is exact has all its digits, and a rounded one is within half of its last */
  const slack = as === "count" && Number.isInteger(value) ? 0 : 0.5000001 * 10 ** (exponent - places);
  const shown = Number(digits), is = value / unit;
  if (Math.abs(shown - is) > slack) return `${text}, by the JSON ${value}`;
  if (as !== "count" && as !== "share" && is !== 0 && Math.abs(shown - is) / Math.abs(is) > 0.0051) return `${text} has too few digits for ${value}`;
  return undefined;
}
