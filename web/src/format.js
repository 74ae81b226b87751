// Numbers with their units, as the page shows them: three digits, or all of a count.

function scaled(x, units, base) {
  const size = Math.abs(x);
  let i = 0;
  while (i + 1 < units.length && Number((size / base ** i).toPrecision(3)) >= base) i++;
  const v = x / base ** i;
  const text = Math.abs(v) >= 999.5 ? v.toFixed(0) : Number.isInteger(v) && Math.abs(v) < 1000 ? String(v) : v.toPrecision(3);
  return `${text} ${units[i]}`;
}

const never = "—";

export const time = (ns) =>
  ns === null || ns === undefined ? never : ns === 0 ? "0" : Math.abs(ns) < 1 ? `${Number(ns.toPrecision(3))} ns` : scaled(ns, ["ns", "µs", "ms", "s"], 1000);
export const bytes = (n) => (n === null || n === undefined ? never : scaled(n, ["B", "kB", "MB", "GB", "TB", "PB"], 1000));
/* bits per second */
export const rate = (bps) => (bps === null || bps === undefined ? never : scaled(bps, ["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"], 1000));
export const share = (x) => (x === null || x === undefined ? never : `${(100 * x).toFixed(1)}%`);
/* of computing */
export const seconds = (s) => time(s === null || s === undefined ? s : s * 1e9);
export const count = (n) => (n === null || n === undefined ? never : n.toLocaleString("en-US"));
export const times = (x) => (x === null || x === undefined ? never : `${x.toPrecision(3)} times`);
export const bandwidth = (x) => (x === null || x === undefined ? never : `${x.toPrecision(3)} GB/s`);
export const gbps = (x) => rate(x === null || x === undefined ? x : x * 1e9);
/* For prose: a number and its unit, and an arrow between two names, stay on one line. */
export const joined = (text) => text.replaceAll(/(\d) (?=(?:ns|µs|us|ms|s|B|kB|MB|GB|TB|times)\b|%)/g, "$1\u00a0").replaceAll(/ ?-> ?/g, (m) => (m === "->" ? "→" : "\u00a0→ "));
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
