// The page of a comparison (ripstop compare --html): who is first, any figure as bars, two figures against each other, sweeps as lines.
import * as Plot from "@observablehq/plot";
import { cell, choice, figure, fit, folded, h, table } from "./dom.js";
import * as format from "./format.js";

const BARS = 40, LINES = 6, NAMED = 14;
const AS = { ns: "time", "bit/s": "rate", bytes: "bytes", share: "share", s: "seconds", "": "count" };

const colours = ["var(--load)", "var(--queue)", "var(--pause)", "var(--loss)", "var(--gain)", "var(--hidden)"];

/* Variants in the order of their rank, with what the pictures ask of them. */
function digest(json) {
  const names = json.figures.filter((f) => json.variants.some((v) => v.figures[f.id]));
  const variants = json.order.map((i) => {
    const v = json.variants[i];
    return { ...v, i, labels: v.choices.map((k, a) => json.axes[a].choices[k].label) };
  });
  const several = (a) => a.choices.length > 1;
  const title = (v) => json.axes.map((a, k) => (several(a) ? v.labels[k] : null)).filter(Boolean).join(", ") || v.name;
  for (const v of variants) v.title = title(v);
  return { json, figures: names.map((f) => ({ ...f, as: AS[f.unit] })), variants, had: variants.filter((v) => v.refused === null) };
}

const mean = (v, f) => v.figures[f.id]?.mean ?? null;
const known = (v, f) => mean(v, f) !== null;
const show = (f, x) => format[f.as](x);
/* a figure that never came has null */
const text = (v, f) => (!v.figures[f.id] ? "not known" : known(v, f) ? show(f, mean(v, f)) : "never");
const at = (v, f, what) => (v.figures[f.id] && v.figures[f.id][what] !== null ? cell(f.as, v.figures[f.id][what], `variants/${v.i}/figures/${f.id}/${what}`) : text(v, f));
const spread = (v, f) => known(v, f) && v.figures[f.id].high > v.figures[f.id].low;
const rank = (v) => (v.rank === null ? "—" : `${v.rank}${v.shared ? "=" : ""}`);

/* The choice of a figure, which some pictures share. */
function chooser(r, label, first, then) {
  return choice(label, r.figures.map((f) => [f.id, f.name]).sort((a, b) => (b[0] === first) - (a[0] === first)), then);
}

function bars(r) {
  let f = r.figures[0];
  const list = () => r.had.filter((v) => known(v, f)).slice(0, BARS);
  const draw = (width) => {
    const all = list();
    const step = 40, most = Math.max(...all.map((v) => v.figures[f.id].high), 0) || 1;
    const y = (v) => all.indexOf(v) * step + 10;
    const top = 10;
    return Plot.plot({
      width, height: step * all.length + 46, marginLeft: 20, marginRight: 24, marginTop: 4, marginBottom: 38,
      x: { domain: [0, most * 1.02], tickFormat: (v) => show(f, v), ticks: width < 560 ? 3 : 7, label: `${f.name} →`, labelAnchor: "right" },
      y: { domain: [step * all.length, 0], axis: null },
      marks: [
        Plot.gridX({ strokeOpacity: 0.1 }),
        Plot.rect(all, { x1: 0, x2: (v) => Math.max(0, mean(v, f)), y1: (v) => y(v) + top, y2: (v) => y(v) + top + 13, fill: "var(--load)", fillOpacity: (v) => (v.rank === 1 ? 1 : 0.55) }),
        Plot.ruleY(all.filter((v) => spread(v, f)), { x1: (v) => Math.max(0, v.figures[f.id].low), x2: (v) => v.figures[f.id].high, y: (v) => y(v) + top + 7, stroke: "var(--ink)", strokeWidth: 1.5 }),
        Plot.ruleX([0], { stroke: "var(--ink)" }),
        Plot.text(all, { x: 0, y, text: (v) => fit(`${rank(v)}  ${v.title}: ${text(v, f)}`, width - 44, 12.5, 600), textAnchor: "start", fontWeight: 600, fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 4, fontSize: 12.5 }),
      ],
    });
  };
  const e = figure({
    id: "bars", title: "The variants", draw,
    says: `By rank; a rank with = is shared: chance explains the difference to the first of it. The line in a bar is the 95% interval over seeds.${r.had.length > BARS ? ` The first ${BARS} of ${format.count(r.had.length)}.` : ""}`,
    controls: [chooser(r, "Show", f.id, (id) => ((f = r.figures.find((x) => x.id === id)), e.paint()))],
    label: () => `${f.name} of each variant. ${list().map((v) => `${v.title}: ${text(v, f)}`).join("; ")}.`,
    table: () => ({
      caption: `${f.name}: the mean over seeds with its 95% interval`, columns: ["variant", "rank", "mean", "from", "to", "seeds"],
      rows: r.had.map((v) => [v.title, rank(v), at(v, f, "mean"), at(v, f, "low"), at(v, f, "high"), cell("count", v.seeds, `variants/${v.i}/seeds`)]),
    }),
  });
  return e;
}

/* What a good completion is paid with. */
function trade(r) {
  const x0 = r.figures[0];
  let fy = r.figures.find((f) => f.id === "queue_p99_bytes") ?? r.figures[1];
  const list = () => r.had.filter((v) => known(v, x0) && known(v, fy));
  const e = figure({
    id: "trade", title: "What it is paid with",
    says: "Each variant is a dot. The best are at the left.",
    controls: [chooser({ figures: r.figures.slice(1) }, "Against", fy.id, (id) => ((fy = r.figures.find((f) => f.id === id)), e.paint()))],
    draw: (width) => {
      const named = list().length <= NAMED ? list() : list().filter((v) => v.rank === 1).slice(0, 1);
      return Plot.plot({
        width, height: 340, marginLeft: 74, marginRight: width < 560 ? 30 : 150, marginTop: 26, marginBottom: 40,
        x: { label: `${x0.name} →`, tickFormat: (v) => show(x0, v), ticks: width < 560 ? 2 : 6, nice: true, grid: true },
        y: { label: `↑ ${fy.name}`, tickFormat: (v) => show(fy, v), ticks: 5, nice: true, grid: true },
        marks: [
          Plot.dot(list(), { x: (v) => mean(v, x0), y: (v) => mean(v, fy), r: 4.5, fill: "var(--load)", fillOpacity: 0.7 }),
          width < 560 ? null : Plot.text(named, { x: (v) => mean(v, x0), y: (v) => mean(v, fy), text: (v) => fit(v.title, 130, 12), dx: 8, textAnchor: "start", fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 4, fontSize: 12 }),
        ],
      });
    },
    label: () => `${x0.name} against ${fy.name}. ${list().slice(0, BARS).map((v) => `${v.title}: ${text(v, x0)}, ${text(v, fy)}`).join("; ")}.`,
    table: () => ({ caption: `${x0.name} and ${fy.name} of each variant`, columns: ["variant", x0.name, fy.name], rows: list().map((v) => [v.title, at(v, x0, "mean"), at(v, fy, "mean")]) }),
  });
  return e;
}

/* 100G, 1.5us, 64KiB as a number; null: it is none. Values of one axis have one kind of unit. */
function quantity(label) {
  const m = /^([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([a-zµ]*)/i.exec(label);
  const scale = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, ps: 1e-3, ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 };
  const factor = m && m[0].length === label.length ? scale[m[2].replace(/(bps|bit|b)$/, "")] ?? scale[m[2]] : undefined;
  return factor === undefined ? null : Number(m[1]) * factor;
}

/* One axis along x; a line for each combination of the others. */
function sweep(r, a, n) {
  const axis = r.json.axes[a];
  const xs = axis.choices.map((c) => quantity(c.label));
  const numbers = xs.every((x) => x !== null);
  const log = numbers && Math.min(...xs) > 0 && Math.max(...xs) / Math.min(...xs) >= 8;
  const short = axis.name.split(".").pop();
  const rest = (v) => v.labels.filter((_, k) => k !== a && r.json.axes[k].choices.length > 1).join(", ") || "all";
  const lines = [...new Set(r.had.map(rest))].slice(0, LINES);
  let f = r.figures[0];
  const x = (v) => (numbers ? xs[v.choices[a]] : axis.choices[v.choices[a]].label);
  const list = () => r.had.filter((v) => known(v, f) && lines.includes(rest(v))).sort((p, q) => p.choices[a] - q.choices[a]);
  const e = figure({
    id: `sweep${n}`, title: `Over ${short}`,
    says: lines.length > 1 ? `A line for each of the other choices${new Set(r.had.map(rest)).size > LINES ? `; the first ${LINES}` : ""}.` : "With the 95% interval over seeds.",
    controls: [chooser(r, "Show", f.id, (id) => ((f = r.figures.find((k) => k.id === id)), e.paint()))],
    draw: (width) => {
      const all = list();
      const colour = (v) => colours[lines.indexOf(rest(v)) % colours.length];
      return Plot.plot({
        width, height: 320, marginLeft: 74, marginRight: 40, marginTop: 26, marginBottom: 44,
        x: { type: numbers ? (log ? "log" : "linear") : "point", domain: numbers ? undefined : axis.choices.map((c) => c.label), label: `${short} →`, ...(numbers && axis.choices.length <= 12 ? { ticks: xs, tickFormat: (v) => axis.choices[xs.indexOf(v)]?.label ?? "" } : numbers ? { ticks: 6 } : {}) },
        y: { label: `↑ ${f.name}`, tickFormat: (v) => show(f, v), ticks: 5, grid: true, zero: true, nice: true },
        marks: [
          Plot.ruleX(all.filter((v) => spread(v, f)), { x, y1: (v) => v.figures[f.id].low, y2: (v) => v.figures[f.id].high, stroke: "var(--muted)", strokeWidth: 1.2 }),
          Plot.line(all, { x, y: (v) => mean(v, f), z: rest, stroke: colour, strokeWidth: 2 }),
          Plot.dot(all, { x, y: (v) => mean(v, f), fill: colour, r: 3.5 }),
        ],
      });
    },
    after: lines.length > 1 ? h("p", { class: "lines" }, lines.map((l, i) => h("span", { style: `--of: ${colours[i]}` }, l))) : null,
    label: () => `${f.name} over ${axis.name}. ${list().slice(0, 60).map((v) => `${v.title}: ${text(v, f)}`).join("; ")}.`,
    table: () => ({ caption: `${f.name} over ${axis.name}`, columns: [short, "others", "mean", "from", "to"], rows: list().map((v) => [v.labels[a], rest(v), at(v, f, "mean"), at(v, f, "low"), at(v, f, "high")]) }),
  });
  return e;
}

function verdict(r) {
  const first = r.had.filter((v) => v.rank === 1);
  const f = r.figures[0];
  const next = r.had.find((v) => v.rank !== null && v.rank > 1);
  if (!first.length) return ["No variant finishes with each seed", "None has a rank."];
  const who = first.length === 1 ? first[0].title : first.length === r.had.length ? "None is told apart: all variants" : first.length <= 3 ? first.map((v) => v.title).join(" and ") : `${first.length} variants`;
  const title = first.length === r.had.length && first.length > 1 ? "No variant is told apart from the others" : `${who} ${first.length === 1 ? "is" : "are"} first, at ${text(first[0], f)}`;
  const behind = next ? `The next, ${next.title}, takes ${format.share(mean(next, f) / mean(first[0], f) - 1)} longer.` : "";
  return [title, behind];
}

export function compose(json, about, raw, { section, save }) {
  const r = digest(json);
  const [title, behind] = verdict(r);
  const refused = r.variants.filter((v) => v.refused !== null);
  const swept = json.axes.map((a, k) => [a, k]).filter(([a]) => a.varied && a.choices.length > 1);
  const all = () => table("Every figure, the mean over seeds", ["variant", "rank", ...r.figures.map((f) => f.name)], r.had.map((v) => [v.title, rank(v), ...r.figures.map((f) => at(v, f, "mean"))]));
  const sections = [
    r.had.length ? section("who", "Side by side", bars(r), r.figures.length > 1 && r.had.length > 1 ? trade(r) : null) : null,
    swept.length ? section("swept", "What was varied", swept.map(([, k], n) => sweep(r, k, n))) : null,
    section("numbers", "Every figure", all(), refused.length ? folded(`${format.plural(refused.length, "variant")} that cannot be had`, () => table("Variants that cannot be had", ["variant", "why"], refused.map((v) => [v.title, v.refused]))) : null),
    section("whole", "The report", h("p", { class: "says" }, "What the terminal shows, and the JSON that this page was drawn from."),
      h("button", { type: "button", onclick: () => save(raw) }, "Save the JSON"), folded("The report as the terminal shows it", () => h("pre", { tabindex: "0", role: "region", "aria-label": "The report as the terminal shows it" }, about.text))),
  ].filter(Boolean);
  document.title = `${title} – ${json.scenario}`;
  return [
    h("header", {}, h("p", { class: "brand" }, h("b", {}, "Ripstop"), " ", json.scenario)),
    h("main", {},
      h("div", { id: "verdict", tabindex: "-1" }, h("h1", {}, title), h("p", { class: "lead" }, `${format.plural(json.variants.length, "variant")} with ${format.plural(json.seeds, "seed")} each. ${behind}`)),
      h("nav", { "aria-label": "Parts of this page" }, sections.map((s) => h("a", { href: `#${s.id}` }, s.querySelector("h2").textContent))),
      sections),
    h("footer", {}, h("dl", { class: "facts" }, [["Scenario", json.scenario], ["Compared", json.axes.map((a) => a.name).join(", ")], ["Computed in", `${json.engine.wall_s.toPrecision(3)} s, ${json.engine.cpu_s.toPrecision(3)} s of processor time`], ["Ripstop", about.version]].map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, v))))),
  ];
}
