// What each run beside the scenario gained: a bar with its interval, its name above it.
import * as Plot from "@observablehq/plot";
import { cell, figure, fit, folded, h, table } from "./dom.js";
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
  const draw = (width) => {
    const bars = shown.filter((c) => c.ends && c.gain !== null);
    const narrow = width < 560;
    /* of a row: the name, then the words at its right or below it, then the bar */
    const [step, words, top] = narrow ? [62, 17, 27] : [44, 0, 11];
    const y = (c) => shown.indexOf(c) * step + 12;
    const ends = bars.filter(spread).flatMap((c) => [[c, c.gain_low], [c, c.gain_high]]).filter(([, v]) => at(v) === v);
    const lines = (stroke, strokeWidth) => [
      Plot.ruleY(bars.filter(spread), { x1: (c) => at(c.gain_low), x2: (c) => at(c.gain_high), y: (c) => y(c) + top + 7, stroke, strokeWidth }),
      Plot.ruleX(ends, { x: ([, v]) => v, y1: ([c]) => y(c) + top + 2, y2: ([c]) => y(c) + top + 12, stroke, strokeWidth }),
    ];
    const word = { stroke: "var(--paper)", strokeWidth: 4 };
    return Plot.plot({
      width,
      height: step * shown.length + (bars.length ? 46 : 10),
      marginLeft: 20,
      marginRight: 20,
      marginTop: 4,
      marginBottom: bars.length ? 36 : 0,
      x: { domain: [low, high], axis: bars.length ? "bottom" : null, tickFormat: (v) => `${Math.round(100 * v)}%`, ticks: narrow ? 4 : 8, label: low < 0 ? "← more time · less time →" : "less time →", labelAnchor: "right" },
      y: { domain: [step * shown.length, 0], axis: null },
      marks: [
        bars.length ? Plot.gridX({ strokeOpacity: 0.1 }) : null,
        Plot.rect(bars, { x1: 0, x2: (c) => at(c.gain), y1: (c) => y(c) + top, y2: (c) => y(c) + top + 14, fill: (c) => (c.gain < 0 ? "var(--loss)" : c.kind === "ideal" ? "var(--hidden)" : `var(--${colour})`), fillOpacity: (c) => (c.clear ? 1 : 0.35) }),
        Plot.dot(shown.filter((c) => !bars.includes(c)), { x: low, y: (c) => y(c) + top + 7, dx: 6, r: 5, fill: (c) => (c.ends ? "var(--gain)" : "var(--loss)") }),
        Plot.text(bars.filter((c) => c.gain < low), { x: low, y: (c) => y(c) + top + 7, text: () => "◀", textAnchor: "start", dx: 3, fill: "var(--on)", fontSize: 11 }),
        ...lines("var(--paper)", 4.5),
        ...lines("var(--ink)", 1.5),
        bars.length ? Plot.ruleX([0], { stroke: "var(--ink)" }) : null,
        Plot.text(shown, { x: low, y, text: (c) => fit(c.name, width - (narrow ? 44 : 300), 12.5, 600), textAnchor: "start", fontWeight: 600, fill: "var(--ink)", fontSize: 12.5, ...word }),
        Plot.text(shown, { x: narrow ? low : high, y: (c) => y(c) + words, text: (c) => sentence(c, jobs), textAnchor: narrow ? "start" : "end", fill: "var(--muted)", fontSize: 12, ...word }),
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
  const values = () => ({
    caption: `${title}: share of the time saved, with its 95% interval over seeds`,
    columns: ["run", "less time", "from", "to", "seeds", ...Array.from({ length: first }, (_, k) => (first > 1 ? `job ${k + 1} takes` : "takes")), "sure"],
    rows: rows(),
  });
  const none = same.length ? ` No change: ${same.map((c) => c.name).join("; ")}.` : "";
  if (!shown.length) return plain(title, none.trim(), values);
  return figure({
    id,
    title,
    says: says + none,
    draw,
    label: () => `${title}. ${shown.map((c) => `${c.name}: ${sentence(c, jobs)}`).join(". ")}.`,
    table: values,
  });
}

/* Where nothing changes the time there is nothing to draw. */
function plain(title, says, values) {
  return h("div", {}, h("h3", {}, title), h("p", { class: "says" }, says), folded(`Table: ${title}`, () => {
    const t = values();
    return table(t.caption, t.columns, t.rows);
  }));
}
