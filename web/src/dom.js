// Elements, tables and figures. Text goes in as text nodes, so no name of a scenario can be markup.
import * as format from "./format.js";

/* h("p", {class: "says"}, "text", element, ...) */
export function h(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v !== undefined && v !== null && v !== false) e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

export function svg(tag, attributes = {}, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attributes)) if (v !== undefined && v !== null) e.setAttribute(k, v);
  e.append(...children.flat().filter((c) => c !== null && c !== undefined));
  return e;
}

/*
 * A number in a table: its text, and `of`, which says where it stands in the report's JSON
 * ("runs/0/counters/drops"), or how it follows from it ("load:12"). The tests work each out again.
 */
export const cell = (as, value, of) => ({ as, value, of, text: format[as](value) });

function td(c, heading) {
  const tag = heading ? "th" : "td";
  if (c === null || c === undefined) return h(tag, {}, "—");
  if (typeof c !== "object") return h(tag, heading ? { scope: "row" } : {}, String(c));
  return h(tag, { class: "n", "data-of": c.of, "data-as": c.as }, c.text);
}

const ROWS = 1000; /* of a table; a longer one takes seconds to lay out */

/* columns: names; rows: lists of text or cell(), those that matter most first. */
export function table(caption, columns, all) {
  const rows = all.slice(0, ROWS);
  if (all.length > ROWS) caption += `. The first ${format.count(ROWS)} of ${format.count(all.length)}; the JSON has all`;
  const numeric = (i) => rows.some((r) => r[i] !== null && typeof r[i] === "object");
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, columns.map((c, i) => h("th", { scope: "col", class: numeric(i) ? "n" : null }, c)))),
      h("tbody", {}, rows.map((r) => h("tr", {}, r.map((c, i) => td(c, i === 0)))))));
}

/* A table that is made when it is opened. */
export function folded(summary, make) {
  const d = h("details", {}, h("summary", {}, summary));
  d.addEventListener("toggle", () => {
    if (d.open && !d.made) {
      d.made = true;
      d.append(make());
    }
  });
  return d;
}

const drawn = new Set();
let queued = false;

function redrawAll() {
  queued = false;
  for (const f of drawn) f();
}

/* All pictures anew: the width or the colours changed. */
export function redraw() {
  if (!queued) requestAnimationFrame(redrawAll);
  queued = true;
}

/*
 * A picture with what it says, its controls and its table.
 * draw(width): an SVG element; label(): its accessible name; table(): {caption, columns, rows}; more: other tables by name.
 */
export function figure({ id, title, heading = "h3", says, controls, draw, label, table: make, more = {}, after }) {
  const place = h("div", { class: "picture" });
  const paint = () => {
    const width = Math.floor(place.clientWidth);
    if (width < 50) return;
    const picture = draw(width);
    /* one image with one name: Plot names its groups, which have no role */
    for (const g of picture.querySelectorAll("[aria-label], [aria-description]")) {
      g.removeAttribute("aria-label");
      g.removeAttribute("aria-description");
    }
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", label());
    place.replaceChildren(picture);
  };
  drawn.add(paint);
  const f = h("figure", { id, "aria-labelledby": `${id}-title` },
    h("figcaption", {}, h(heading, { id: `${id}-title`, class: "title" }, title), says ? h("p", { class: "says" }, says) : null),
    controls ? h("div", { class: "controls" }, controls) : null,
    place,
    after,
    Object.entries({ [title]: make, ...more }).map(([name, make]) => folded(`Table: ${name}`, () => {
      const t = make();
      return table(t.caption, t.columns, t.rows);
    })));
  f.paint = paint;
  return f;
}

let ruler;

/* As much of a text as fits into so many pixels of the page's font. */
export function fit(text, pixels, size, weight = 400) {
  ruler ??= document.createElement("canvas").getContext("2d");
  ruler.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  const fits = (t) => ruler.measureText(t).width <= pixels;
  if (fits(text)) return text;
  const letters = [...text];
  let low = 0, high = letters.length;
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if (fits(`${letters.slice(0, middle).join("")}…`)) low = middle;
    else high = middle;
  }
  return `${letters.slice(0, low).join("")}…`;
}

/* A labelled <select>; options: [value, text]. */
export function choice(label, options, onchange) {
  const s = h("select", { onchange: () => onchange(s.value) }, options.map(([v, t]) => h("option", { value: v }, t)));
  return h("label", {}, h("span", {}, label), s);
}
