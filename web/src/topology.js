// The network drawn: switches by tier, NICs under their leaf; load as colour, pauses and drops as numbered marks.
import { cell, choice, figure, h, svg } from "./dom.js";
import * as format from "./format.js";
import { of, ramp } from "./colour.js";

const TIERS = ["leaf", "spine", "core"];
const HEIGHT = 96; /* between tiers */
const LINKS = 6000; /* drawn one by one; of more the busiest */

/* Both directions of each link, as places in r.ports; a direction that nothing was kept of is undefined. */
function joined(r) {
  const at = new Map(r.ports.map((p) => [p.nic ? `e${p.node}` : `s${p.node}.${p.port}`, p]));
  const port = (end) => at.get(end.endpoint !== undefined ? `e${end.endpoint}` : `s${end.switch}.${end.port}`);
  return r.fabric.links.map((l, i) => ({ i, ...l, ports: [port(l.a), port(l.b)].filter(Boolean) }));
}

/* Where each switch and NIC is drawn, for a width. */
function layout(r, links, width) {
  const tiers = [];
  r.fabric.switches.forEach((s, i) => (tiers[Math.min(s.tier, 2)] ??= []).push(i));
  const used = tiers.filter(Boolean);
  /* links within a tier are arcs above it */
  const tier = (end) => r.fabric.switches[end.switch]?.tier;
  const arcs = links.some((l) => tier(l.a) !== undefined && tier(l.a) === tier(l.b));
  const height = (t) => (arcs ? 64 : 34) + (used.length - 1 - t) * HEIGHT;
  const at = [];
  used.forEach((list, t) => list.forEach((sw, k) => (at[sw] = { x: ((k + 0.5) * width) / list.length, y: height(t), slot: width / list.length, tier: t })));
  const under = new Map();
  for (const l of links) {
    const nic = l.a.endpoint ?? l.b.endpoint;
    const sw = l.a.switch ?? l.b.switch;
    if (nic !== undefined && sw !== undefined) under.set(sw, [...(under.get(sw) ?? []), { nic, link: l }]);
  }
  const nics = [];
  let bottom = height(0);
  for (const [sw, list] of under) {
    const place = at[sw];
    const room = place.slot * 0.9;
    const spread = room / list.length >= 13;
    const columns = spread ? list.length : Math.max(Math.ceil(Math.sqrt(list.length * Math.min(room / 60, 1))), 1);
    const size = spread ? 11 : Math.max(Math.min(room / columns, 10), 1.5);
    const pitch = spread ? room / columns : size;
    list.sort((a, b) => a.nic - b.nic);
    const up = place.tier > 0 ? -1 : 1; /* a NIC at a spine stands above it */
    list.forEach((n, k) => {
      const x = place.x + ((k % columns) - (columns - 1) / 2) * pitch;
      const y = place.y + up * ((spread ? 62 : 40) + Math.floor(k / columns) * size);
      nics.push({ ...n, sw, x, y, size: size * (spread ? 1 : 0.86), spread, pitch, line: spread || k < columns });
      bottom = Math.max(bottom, y + size);
    });
  }
  return { tiers: used, at, nics, height: bottom + 34, width };
}

/* The measures that colour the links: of a port over the run, or in a bin. */
function measures(r) {
  const within = (p, key, b) => (p.rows ? p.rows[key][b] : 0);
  return {
    load: { name: "Load", ramp: "load", as: "share", top: () => 1, value: (p, b) => (b < 0 ? p.load : (within(p, "bytes", b) * 8e9) / (p.rate * r.binLength(b))) },
    queue: { name: "Longest queue", ramp: "queue", as: "bytes", top: () => Math.max(...r.ports.map((p) => p.peak), 1), value: (p, b) => (b < 0 ? p.peak : within(p, "queue", b)) },
    paused: { name: "Held by pauses", ramp: "pause", as: "share", top: () => 1, value: (p, b) => Math.min(b < 0 ? p.pausedNs / (r.base.sim_time_ns || 1) : within(p, "paused", b) / r.binLength(b), 1) },
  };
}

/* What a reader should look at first: at most 6 ports, each once. */
function notable(r) {
  const seen = new Set();
  const found = [];
  const top = (key, n, least, say) =>
    [...r.ports].sort((a, b) => b[key] - a[key]).slice(0, n).forEach((p) => {
      if (p[key] > least && !seen.has(p.i) && found.length < 6) {
        seen.add(p.i);
        found.push({ p, kind: key, say: say(p) });
      }
    });
  for (const name of r.base.deadlock.slice(0, 4)) {
    const p = r.ports.find((x) => x.name === name);
    if (p && !seen.has(p.i)) {
      seen.add(p.i);
      found.push({ p, kind: "pausedNs", say: "waits in a circle: a PFC deadlock" });
    }
  }
  const why = (p) => r.base.pauses.find((x) => x.held === p.short);
  top("pausedNs", 3, 0, (p) => {
    const w = why(p);
    return `held by pauses for ${format.time(p.pausedNs)}${w && w.waited_for ? `: ${w.by} paused it, waiting for ${w.waited_for}` : ""}`;
  });
  top("dropped", 2, 0, (p) => `${format.plural(p.dropped, "packet")} dropped that came in here`);
  top("peak", 2, 100e3, (p) => `longest queue ${format.bytes(p.peak)}`);
  [...r.inside].sort((a, b) => b.load - a.load).slice(0, 2).forEach((l) => {
    if (l.load > 0.3 && found.length < 7) found.push({ inside: l, kind: "inside", say: `a link inside the host, taken ${format.share(l.load)} of the run` });
  });
  top("load", 2, 0.5, (p) => `busiest: ${format.share(p.load)} of ${format.rate(p.rate)} over the run`);
  return found;
}

export function topology(r) {
  const links = joined(r);
  const all = measures(r);
  const marks = notable(r);
  const state = { measure: "load", bin: -1 };
  const bins = r.series.bins;
  const few = r.ports.filter((p) => p.rows).length;
  let paintLinks = () => {};

  const busiest = (l) => Math.max(0, ...l.ports.map((p) => p.load));
  const when = () => (state.bin < 0 ? "the whole run" : `${format.time(r.binFrom(state.bin))} to ${format.time(r.binTo(state.bin))}`);
  const name = (end) => (end.endpoint !== undefined ? r.fabric.endpoints[end.endpoint].name : r.fabric.switches[end.switch].name);

  const draw = (width) => {
    const plan = layout(r, links, width);
    const picture = svg("svg", { width, height: plan.height, viewBox: `0 0 ${width} ${plan.height}` });
    const lines = [];
    const between = links.filter((l) => l.a.switch !== undefined && l.b.switch !== undefined);
    const drawn = between.length > LINKS ? [...between].sort((x, y) => all.load.value(y.ports[0] ?? y, -1) - all.load.value(x.ports[0] ?? x, -1)).slice(0, LINKS) : between;
    const pairs = new Map();
    for (const l of drawn) {
      const key = `${l.a.switch}-${l.b.switch}`;
      pairs.set(key, [...(pairs.get(key) ?? []), l]);
    }
    const group = svg("g", { fill: "none" });
    for (const list of pairs.values())
      list.forEach((l, k) => {
        const p = plan.at[l.a.switch], q = plan.at[l.b.switch];
        const off = (k - (list.length - 1) / 2) * 3;
        const d = p.y === q.y
          ? `M${p.x},${p.y} Q${(p.x + q.x) / 2},${p.y - Math.min(20 + Math.abs(p.x - q.x) * 0.25, 70) - off} ${q.x},${q.y}`
          : `M${p.x + off},${p.y} L${q.x + off},${q.y}`;
        const path = svg("path", { d });
        group.append(path);
        lines.push({ path, l, from: p, to: q, curved: p.y === q.y });
      });
    const squares = [];
    for (const n of plan.nics) {
      const s = plan.at[n.sw];
      if (n.line) {
        const path = svg("path", { d: `M${s.x},${s.y} L${n.x},${n.y}` });
        group.append(path);
        lines.push({ path, l: n.link, thin: !n.spread, ...(n.link.a.endpoint === undefined ? { from: s, to: n } : { from: n, to: s }) });
      }
      const square = svg("rect", { x: n.x - n.size / 2, y: n.y - n.size / 2, width: n.size, height: n.size, rx: Math.min(n.size / 5, 2) });
      squares.push({ square, ...n });
    }
    picture.append(group, ...squares.map((s) => s.square));
    picture.append(...switches(plan), ...names(plan));
    paintLinks = () => colourAll(lines, squares);
    paintLinks();
    picture.append(...numbers(plan, lines, squares));
    return picture;
  };

  function switches(plan) {
    return plan.tiers.flatMap((list) =>
      list.map((sw) => {
        const { x, y, slot } = plan.at[sw];
        const w = Math.max(Math.min(slot * 0.72, 74), 2);
        return svg("rect", { x: x - w / 2, y: y - 9, width: w, height: 18, rx: Math.min(w / 4, 4), fill: "var(--card)", stroke: "var(--line)" });
      }));
  }

  function names(plan) {
    const out = [];
    plan.tiers.forEach((list) => {
      const { y, slot, tier } = plan.at[list[0]];
      const longest = Math.max(...list.map((sw) => r.fabric.switches[sw].name.length));
      if (slot * 0.72 >= longest * 6.2)
        for (const sw of list) out.push(svg("text", { x: plan.at[sw].x, y: y + 4, "text-anchor": "middle", class: "name" }, r.fabric.switches[sw].name));
      else out.push(svg("text", { x: 0, y: y - 15, class: "name halo" }, format.plural(list.length, plan.tiers.length > 1 ? `${TIERS[tier]} switch` : "switch", plan.tiers.length > 1 ? `${TIERS[tier]} switches` : "switches")));
    });
    const longest = Math.max(0, ...plan.nics.map((n) => r.fabric.endpoints[n.nic].name.length));
    const every = plan.nics.every((n) => n.spread && n.pitch >= longest * 6);
    if (every) for (const n of plan.nics) out.push(svg("text", { x: n.x, y: n.y + 19, "text-anchor": "middle", class: "name" }, r.fabric.endpoints[n.nic].name));
    else out.push(svg("text", { x: plan.width / 2, y: plan.height - 8, "text-anchor": "middle", class: "name" }, `${format.plural(r.fabric.endpoints.length, "NIC port")} of ${format.plural(r.fabric.hosts.length, "host")}`));
    return out;
  }

  function colourAll(lines, squares) {
    const m = all[state.measure];
    const full = ramp(m.ramp);
    const colour = (v) => full(0.2 + 0.8 * v); /* a little is seen, too */
    const top = m.top();
    const none = of("none"), idle = of("line");
    const worst = (l) => Math.max(0, ...l.ports.map((p) => m.value(p, state.bin))) / top;
    const held = (l) => l.ports.some((p) => all.paused.value(p, state.bin) > 0);
    for (const x of lines) {
      const v = worst(x.l);
      const s = x.path;
      s.setAttribute("stroke", x.l.down ? of("muted") : held(x.l) && state.measure !== "queue" ? of("pause") : v > 0 ? colour(v) : idle);
      s.setAttribute("stroke-width", x.thin ? 1 : ((held(x.l) ? 1.8 : 0.8) + 3 * Math.min(v, 1)).toFixed(2));
      s.setAttribute("stroke-dasharray", x.l.down ? "2 4" : x.l.loss > 0 ? "6 3" : "none");
      x.v = v;
    }
    for (const x of squares) {
      const v = worst(x.link);
      x.square.setAttribute("fill", x.link.down ? of("muted") : v > 0 ? colour(v) : none);
      x.square.setAttribute("stroke", held(x.link) ? of("pause") : "none");
      x.square.setAttribute("stroke-width", x.size > 5 ? 2 : 1);
    }
    const parent = lines[0]?.path.parentNode;
    if (parent) for (const x of [...lines].sort((a, b) => a.v - b.v)) parent.append(x.path);
    scale.replaceChildren(...["0 ", h("span", { class: "ramp", style: `background:linear-gradient(90deg,${[0, 0.5, 1].map(colour).join(",")})` }), ` ${format[m.as](top)}`,
      r.ports.some((p) => p.pausedNs > 0) ? h("span", { class: "held" }, "held by pauses") : ""]);
  }

  /* A link inside a host is marked at the NIC that it leads to, or at the host's first. */
  function nicOf(link, squares) {
    const [host, path = ""] = link.split(" ");
    const of = squares.filter((x) => r.fabric.hosts[r.fabric.endpoints[x.nic].host] === host);
    return of.find((x) => path.split("->").includes(r.fabric.endpoints[x.nic].name.split("/")[1])) ?? of[0];
  }

  /* On a line, where a port's queue stands: near its own end. */
  function beside(line, p) {
    const a = line.l.ports[0] === p ? line.from : line.to;
    const b = a === line.from ? line.to : line.from;
    const t = line.curved ? 0.5 : 0.3;
    return { x: a.x + t * (b.x - a.x), y: line.curved ? a.y - Math.min(20 + Math.abs(a.x - b.x) * 0.25, 70) / 2 : a.y + t * (b.y - a.y) };
  }

  function numbers(plan, lines, squares) {
    const taken = [];
    return marks.flatMap((m, i) => {
      const on = m.inside ? nicOf(m.inside.name, squares) : lines.find((x) => x.l.ports.includes(m.p)) ?? squares.find((x) => x.link.ports.includes(m.p));
      if (!on) return [];
      let { x, y } = on.l ? beside(on, m.p) : on;
      /* beside the NIC: its name is below */
      if (m.inside) x -= 14;
      for (let k = 0; k < 12 && taken.some((t) => Math.hypot(t.x - x, t.y - y) < 19); k++)
        if (m.inside) x += 28;
        else y += k % 2 ? -19 * (k + 1) : 19 * (k + 1);
      x = Math.min(Math.max(x, 10), plan.width - 10);
      y = Math.min(Math.max(y, 10), plan.height - 10);
      taken.push({ x, y });
      return [
        svg("circle", { cx: x, cy: y, r: 9, fill: m.kind === "pausedNs" ? of("pause") : m.kind === "dropped" ? of("lost-2") : of("ink"), stroke: of("paper"), "stroke-width": 2 }),
        svg("text", { x, y: y + 4, "text-anchor": "middle", class: "number" }, String(i + 1)),
      ];
    });
  }

  const scale = h("p", { class: "scale" });
  const told = h("output", {}, when());
  const slider = h("input", {
    type: "range", min: -1, max: bins - 1, value: -1, step: 1, "aria-valuetext": when(),
    oninput: () => {
      state.bin = Number(slider.value);
      told.textContent = when();
      slider.setAttribute("aria-valuetext", when());
      paintLinks();
    },
  });
  const pick = choice("Colour shows", Object.entries(all).map(([id, m]) => [id, m.name]), (id) => {
    state.measure = id;
    paintLinks();
  });
  const legend = marks.length
    ? h("ol", { class: "notable" }, marks.map((m) => h("li", {}, h("b", {}, m.inside ? m.inside.name : m.p.name), ` — ${m.say}`)))
    : h("p", { class: "says" }, "No port was held, dropped anything, queued more than 100 kB or was more than half full.");
  return figure({
    id: "network",
    title: "The network, with its load",
    says: "Each line is a link, in the direction with more. Each square is a NIC port. Numbers are explained below the picture." +
      (few < r.ports.length ? ` Over time the report has ${format.count(few)} of ${format.count(r.ports.length)} ports: in a bin the others stay pale.` : ""),
    controls: [pick, h("label", { class: "wide" }, h("span", {}, "When"), slider, told), scale],
    draw,
    label: () => `The network: ${format.plural(r.fabric.switches.length, "switch", "switches")}, ${format.plural(r.fabric.endpoints.length, "NIC port")}, ${format.plural(links.length, "link")}; ${all[state.measure].name.toLowerCase()} over ${when()}. ${marks.map((m) => `${m.inside ? m.inside.name : m.p.name}: ${m.say}`).join(". ")}`,
    after: legend,
    table: () => ({
      caption: "Links and what each direction carried over the whole run",
      columns: ["from", "to", "rate", "load there", "load back", "held there", "held back", "state"],
      rows: [...links].sort((a, b) => busiest(b) - busiest(a)).map((l) => {
        const [p, q] = [l.a, l.b].map((end) => l.ports.find((x) => (end.endpoint !== undefined ? x.nic && x.node === end.endpoint : !x.nic && x.node === end.switch && x.port === end.port)));
        const load = (x) => (x ? cell("share", x.load, `load:${x.i}`) : "—");
        const held = (x) => (x ? cell("time", x.pausedNs, `runs/0/series/ports/${x.i}/total_paused_ns`) : "—");
        return [p ? p.short : name(l.a), q ? q.short : name(l.b), cell("rate", l.rate, `fabric/links/${l.i}/rate`), load(p), load(q), held(p), held(q), l.down ? "down" : l.loss > 0 ? `loses ${l.loss}` : "up"];
      }),
    }),
  });
}
