// What each run beside the scenario gained: a bar with its interval, its name above it.
import * as Plot from "@observablehq/plot";
import { cell, figure } from "./dom.js";
import * as format from "./format.js";

const CHANCE = 0.0005; /* what tenths of a percent show as 0 */

const unchanged = (c) => c.ends && c.gain !== null && Math.abs(c.gain) < CHANCE;
const spread = (c) => c.gain_low !== null && c.gain_high - c.gain_low > CHANCE;

function sentence(c, jobs) {
  if (!c.ends) return "does not end";
  if (c.gain === null) return "then it ends";
  const takes = jobs === 1 && c.job_times_ns[0] !== null ? `, takes ${format.time(c.job_times_ns[0])}` : "";
  const change = c.gain >= 0 ? `${format.share(c.gain)} less time` : `${format.share(-c.gain)} more time`;
  return (c.clear ? change : `${change}: no more than chance`) + takes;
}

/* As much of a name as fits. */
const cut = (text, width) => {
  const most = Math.max(Math.floor(width / 6.6), 12);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
};

export function sorted(cases) {
  return [...cases].sort((a, b) => b.ends - a.ends || (b.gain ?? Infinity) - (a.gain ?? Infinity));
}

/* Of all pictures of gains one scale: [least, most]. */
export function domain(cases) {
  const ends = cases.filter((c) => c.ends && c.gain !== null);
  const high = Math.max(0.05, ...ends.map((c) => Math.max(c.gain, c.gain_high)));
  const low = Math.min(0, ...ends.filter((c) => c.gain < -0.01).map((c) => Math.min(c.gain, c.gain_low)));
  /* what got much slower would leave no room for the others: its bar is cut, its figure is not */
  return [Math.max(low, -Math.max(high / 2, 0.1)), Math.min(high * 1.02, 1)];
}

export function gains({ id, title, says, cases, scale, jobs, colour }) {
  const shown = sorted(cases).filter((c) => !unchanged(c));
  const same = cases.filter(unchanged);
  const [low, high] = scale;
  const at = (x) => Math.min(Math.max(x, low), high);
  const step = 44;
  const draw = (width) => {
    const bars = shown.filter((c) => c.ends && c.gain !== null);
    const y = (c) => shown.indexOf(c);
    return Plot.plot({
      width,
      height: step * shown.length + 44,
      marginLeft: 20,
      marginRight: 20,
      marginTop: 4,
      marginBottom: 36,
      x: { domain: [low, high], tickFormat: (v) => `${Math.round(100 * v)}%`, ticks: width < 500 ? 4 : 8, label: low < 0 ? "← more time · less time →" : "less time →", labelAnchor: "right" },
      y: { domain: [shown.length - 0.4, -0.4], axis: null },
      marks: [
        Plot.gridX({ strokeOpacity: 0.1 }),
        Plot.rect(bars, { x1: 0, x2: (c) => at(c.gain), y1: (c) => y(c) + 0.05, y2: (c) => y(c) + 0.38, fill: (c) => (c.gain < 0 ? "var(--loss)" : `var(--${colour})`), fillOpacity: (c) => (c.clear ? 1 : 0.35) }),
        Plot.text(bars.filter((c) => c.gain < low), { x: low, y: (c) => y(c) + 0.215, text: () => "◀", textAnchor: "start", dx: 3, fill: "var(--on)", fontSize: 11 }),
        Plot.ruleY(bars.filter(spread), { x1: (c) => at(c.gain_low), x2: (c) => at(c.gain_high), y: (c) => y(c) + 0.215, stroke: "var(--ink)", strokeWidth: 1.5 }),
        Plot.ruleX(bars.filter(spread).flatMap((c) => [[c, c.gain_low], [c, c.gain_high]]).filter(([, v]) => at(v) === v), { x: ([, v]) => at(v), y1: ([c]) => y(c) + 0.1, y2: ([c]) => y(c) + 0.33, stroke: "var(--ink)", strokeWidth: 1.5 }),
        Plot.ruleX([0], { stroke: "var(--ink)" }),
        Plot.text(shown, { x: low, y: (c) => y(c) - 0.1, text: (c) => cut(c.name, width - (width < 560 ? 110 : 260)), textAnchor: "start", fontWeight: 600, fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 4, fontSize: 12.5 }),
        Plot.text(shown, { x: high, y: (c) => y(c) - 0.1, text: (c) => (width < 560 ? sentence(c, 0).replace(" time", "").replace("does not end", "no end") : sentence(c, jobs)), textAnchor: "end", fill: "var(--muted)", stroke: "var(--paper)", strokeWidth: 4, fontSize: 12 }),
      ],
    });
  };
  const rows = () =>
    sorted(cases).map((c) => [
      c.name,
      cell("share", c.gain, `${c.of}/gain`),
      cell("share", c.gain_low, `${c.of}/gain_low`),
      cell("share", c.gain_high, `${c.of}/gain_high`),
      cell("count", c.seeds, `${c.of}/seeds`),
      ...c.job_times_ns.map((t, k) => cell("time", t, `${c.of}/job_times_ns/${k}`)),
      !c.ends ? "does not end" : !c.clear ? "no more than chance" : unchanged(c) ? "no change" : "clear",
    ]);
  const first = cases.length ? cases[0].job_times_ns.length : 0;
  return figure({
    id,
    title,
    says: [says, same.length ? ` No change: ${same.map((c) => c.name).join("; ")}.` : ""].join(""),
    draw,
    label: () => `${title}. ${shown.map((c) => `${c.name}: ${sentence(c, jobs)}`).join(". ") || "Nothing changes the time"}.`,
    table: () => ({
      caption: `${title}: share of the time saved, with its 95% interval over seeds`,
      columns: ["run", "less time", "from", "to", "seeds", ...Array.from({ length: first }, (_, k) => (first > 1 ? `job ${k + 1} takes` : "takes")), "sure"],
      rows: rows(),
    }),
  });
}
