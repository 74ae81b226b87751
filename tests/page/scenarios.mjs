// The scenarios whose pages are tested: those of the tree, special ones, and random ones of tools/fuzz-scenarios.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";

export const RANDOM = Number(process.env.RS_PAGE_RANDOM ?? 2);
const HOSTILE = `"</script><script>window.attacked=1</script><img src=x onerror="window.attacked=1">' & <!-- \u2028 漢字 émoji 🚀`;

const single = (hosts, flows, more = {}) => ({ fabric: { network: { kind: "single-switch", hosts, rate: "100G", mtu: 1024 }, ...more }, workload: [{ flows }] });

/* Four switches in a ring, each of whose flows goes two further round: PFC stands still. */
function deadlock() {
  const n = 4, hosts = [], switches = [], links = [], flows = [];
  for (let i = 0; i < n; i++) {
    switches.push(`s${i}`);
    links.push({ a: `s${i}`, b: `s${(i + 1) % n}` });
    for (let k = 0; k < 3; k++) hosts.push(`h${3 * i + k}`);
  }
  hosts.forEach((h, i) => links.push({ a: h, b: `s${Math.floor(i / 3)}` }));
  for (let i = 0; i < n; i++)
    for (let k = 0; k < 3; k++) {
      const [src, dst] = [`h${3 * i + k}`, `h${3 * ((i + 2) % n) + k}`];
      flows.push({ src, dst, bytes: "2000kB", path: [src, `s${i}`, `s${(i + 1) % n}`, `s${(i + 2) % n}`, dst] });
    }
  return { fabric: { qos: { ecn: false, buffer: "2MB" }, cc: { kind: "none" }, network: { kind: "explicit", rate: "100G", delay: "500ns", hosts, switches, links } }, workload: [{ flows }] };
}

const group = (count, nics) => ({
  name: "h", count, cpu: "spr", sockets: 2,
  nics: Array.from({ length: nics }, (_, i) => ({ name: `nic${i}`, on: `socket${i % 2}`, pcie: "gen5x16" })),
  gpus: Array.from({ length: nics }, (_, i) => ({ name: `gpu${i}`, on: `socket${i % 2}`, pcie: "gen5x16" })),
});

/* A training job with a slow slot beside storage, and a fix: several jobs, inside of hosts, intervals. */
const two = {
  title: "Training beside storage",
  about: "One slot is slow.",
  fabric: { network: { kind: "rail", rate: "200G" }, hosts: [group(4, 2)], change: [{ host: "h1", link: { nic0: { gen: 3, lanes: 8 } } }] },
  workload: [
    { name: "training", train: { parameters: 1e9, tokens: 1e6, bucket: "4MiB", simulate: "8MiB", flops: 4e14 } },
    { name: "storage", flows: [{ src: "h0/nic0", dst: "h3/nic0", bytes: "2MB" }, { src: "h2/nic0", dst: "h3/nic0", bytes: "700kB" }] },
  ],
  "what-if": [{ name: "the slot mended", set: { "fabric.change": [] } }],
};

function drawn(root, from) {
  const code = `import json, sys
from importlib.machinery import SourceFileLoader
sys.dont_write_bytecode = True
m = SourceFileLoader("f", ${JSON.stringify(join(root, "tools/fuzz-scenarios"))}).load_module()
print(json.dumps([m.scenario(n) for n in range(${from}, ${from} + 3 * ${RANDOM})]))`;
  return JSON.parse(execFileSync("python3", ["-W", "ignore", "-c", code], { encoding: "utf8" }));
}

export function scenarios(root, from) {
  const ends = (how) => (json) => assert.equal(json.runs[0].jobs[0].end, how);
  return [
    { name: "incast", scenario: { file: "scenarios/incast.yaml" }, whole: true },
    { name: "two-jobs", scenario: two, whole: true },
    { name: "midnight", scenario: { file: "scenarios/midnight.yaml" }, options: ["--no-diagnosis"] },
    { name: "ring1024", scenario: { file: "bench/ring1024.yaml" }, options: ["--no-diagnosis"], large: true },
    /* no closed form: no slowdown, alone and share */
    { name: "uet", scenario: { fabric: { transport: { kind: "uet" }, network: { kind: "leaf-spine", leaves: 2, spines: 2, hosts_per_leaf: 2, rate: "400G" } }, workload: [{ flows: [{ src: "h0", dst: "h2", bytes: "200kB" }, { src: "h1", dst: "h2", bytes: "90kB" }] }] },
      options: ["--no-diagnosis"], expect: (json) => assert.ok(json.runs[0].flows.every((f) => f.goodput_gbps > 0 && f.slowdown === 0)) },
    /* no packet leaves: only links inside have a course */
    { name: "one-host", scenario: { fabric: { hosts: [group(1, 2)], network: { kind: "single-switch", rate: "200G" } }, workload: [{ collective: { op: "all-reduce", bytes: "256KiB" } }] }, options: ["--no-diagnosis"] },
    { name: "deadlock", scenario: deadlock(), expect: ends("deadlock") },
    { name: "none-complete", scenario: single(3, [{ src: "h0", dst: "h2", bytes: "1MB" }, { src: "h1", dst: "h2", bytes: "1MB" }]), options: ["--max-time", "2us"], expect: ends("stopped") },
    { name: "one-flow", scenario: single(2, [{ src: "h0", dst: "h1", bytes: "1B" }]) },
    { name: "names", scenario: { title: HOSTILE, about: HOSTILE, ...single(3, [{ src: "h0", dst: "h2", bytes: "100kB" }, { src: "h1", dst: "h2", bytes: "90kB" }]), workload: [{ name: HOSTILE, flows: [{ src: "h0", dst: "h2", bytes: "100kB" }, { src: "h1", dst: "h2", bytes: "90kB" }] }], "what-if": [{ name: HOSTILE, set: { "fabric.network.rate": "200G" } }] } },
    ...drawn(root, from).map((scenario, i) => ({ name: `random-${from + i}`, scenario, options: ["--seeds", "2"], random: true })),
  ];
}
