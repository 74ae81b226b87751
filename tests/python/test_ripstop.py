#!/usr/bin/env python3
"""The Python module over libripstop. RIPSTOP_NO_NUMPY=1 runs it as where there is no NumPy."""
import array
import ctypes
import os
import re
import subprocess
import tempfile
import threading
import unittest

import ripstop
from ripstop import _c, table

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def small():
    f = ripstop.Fabric.leaf_spine(leaves=2, spines=2, hosts=8, rate="100G")
    f.add_flows([(0, 7, 100000), (1, 7, 200000, 3 * ripstop.US, 2)], name="mix")
    return f


class Structures(unittest.TestCase):
    def test_places_are_those_of_the_headers(self):
        """Each field of each structure lies where C has it, and no field of C's is missing."""
        lines = ["#include <stdio.h>", "#include <stddef.h>"]
        include = os.path.join(ROOT, "include")
        headers = sorted(h for h in os.listdir(os.path.join(include, "ripstop")) if h.endswith(".h"))
        lines += [f"#include <ripstop/{h}>" for h in headers]
        lines.append("int main(void) {")
        for name, s in _c.STRUCTURES.items():
            lines.append(f'printf("{name} %zu\\n", sizeof(struct {name}));')
            for field, _ in s._fields_:
                lines.append(f'printf("{name}.{field} %zu\\n", offsetof(struct {name}, {field}));')
        lines.append("return 0; }")
        with tempfile.TemporaryDirectory() as d:
            c = os.path.join(d, "t.c")
            with open(c, "w") as f:
                f.write("\n".join(lines))
            subprocess.run([os.environ.get("CC", "cc"), "-I", include, c, "-o", c[:-2]], check=True)
            said = subprocess.run([c[:-2]], check=True, capture_output=True, text=True).stdout
        for line in said.splitlines():
            name, n = line.split()
            struct, _, field = name.partition(".")
            ours = _c.STRUCTURES[struct]
            with self.subTest(name):
                self.assertEqual(int(n), getattr(ours, field).offset if field else ctypes.sizeof(ours))

    def test_each_structure_and_call_of_the_headers_is_known(self):
        text = ""
        for h in os.listdir(os.path.join(ROOT, "include", "ripstop")):
            with open(os.path.join(ROOT, "include", "ripstop", h)) as f:
                text += f.read()
        structs = set(re.findall(r"^struct (ripstop_\w+) \{", text, re.M))
        self.assertEqual(structs - set(_c.STRUCTURES), {"ripstop_collective", "ripstop_training"})  # set by path
        calls = set(re.findall(r"RIPSTOP_API [^(]*?(ripstop_\w+)\(", text))
        self.assertGreater(len(calls), 50)
        with open(os.path.join(os.path.dirname(_c.__file__), "_c.py")) as f:
            declared = set(re.findall(r'\("(ripstop_\w+)", c?_?\w+', f.read()))
        self.assertEqual(calls - declared, {"ripstop_fabric_network", "ripstop_fabric_add_collective",
                                            "ripstop_fabric_add_training"})


class Fabrics(unittest.TestCase):
    def test_calls_and_text_make_the_same(self):
        a = small()
        a.set_class(3, kmin=50000, kmax="200kB", pmax=0.5)
        a.set_cc("dcqcn", preset="paper", rate_ai="50M")
        a.add_collective(bytes=1 << 20, op="all-gather", qps=2, name="a b: c")
        a.add_training(1e6, 2000, dp=8)
        a.add_what_if("w", {"fabric.network.rate": "200G", "fabric.qos.pfc": False})
        b = ripstop.Fabric.parse("""
fabric:
  network: {kind: leaf-spine, leaves: 2, spines: 2, hosts: 8, rate: 100G}
  qos: {classes: [{class: 3, kmin: 50kB, kmax: 200kB, pmax: 0.5}]}
  cc: {kind: dcqcn, preset: paper, rate_ai: 50M}
workload:
- {name: mix, flows: [{src: 0, dst: 7, bytes: 100kB}, {src: 1, dst: 7, bytes: 200kB, start: 3us, class: 2}]}
- {name: "a b: c", collective: {op: all-gather, bytes: 1MiB, qps: 2}}
- {train: {parameters: 1e6, tokens: 2000, dp: 8}}
what-if:
- {name: w, set: {fabric.network.rate: 200G, fabric.qos.pfc: false}}
""")
        self.assertEqual(a.yaml(), b.yaml())
        c = a.copy()
        del c["workload"]
        self.assertEqual(c.facts()["jobs"], 0)
        self.assertEqual(a.facts()["jobs"], 3)

    def test_a_drawn_network(self):
        f = ripstop.Fabric()
        for h in ("a", "b"):
            f.add_host(h)
        f.add_switch("s")
        f.add_link("a", "s", rate=25e9).add_link("b", "s", rate=50e9, delay=2 * ripstop.US, loss=0.01)
        facts = f.facts()
        self.assertEqual((facts["hosts"], facts["switches"], facts["links"]), (2, 1, 2))

    def test_errors_have_their_place(self):
        f = ripstop.Fabric.parse("fabric:\n  network:\n    kind: tree\n", name="x.yaml")
        with self.assertRaises(ripstop.Error) as c:
            f.check()
        e = c.exception
        self.assertEqual((e.file, e.line, e.column), ("x.yaml", 3, 11))
        self.assertTrue(e.code < 0 and e.message and str(e).startswith("x.yaml:3:11: "))
        with self.assertRaises(ripstop.Error):
            ripstop.Fabric.parse("a: [")
        with self.assertRaises(ripstop.Error):
            ripstop.Fabric.load("/nonexistent.yaml")
        f = small()
        f["fabric.network.rate"] = "quick"
        with self.assertRaises(ripstop.Error) as c:
            f.check()
        self.assertEqual(c.exception.file, "fabric.network.rate")
        with self.assertRaises(ripstop.Error):
            f["a..b"] = 1

    @unittest.skipUnless(table.numpy, "there is no NumPy")
    def test_flows_of_a_numpy_array(self):
        n = table.numpy
        rows = n.zeros(3, dtype=[("src", "u4"), ("dst", "u4"), ("bytes", "u8"), ("start", "i8")])
        rows["dst"] = [1, 2, 3]
        rows["bytes"] = 5000
        rows["start"] = [0, 10, 20]
        f = ripstop.Fabric.single_switch(4).add_flows(rows)
        self.assertEqual(list(ripstop.simulate(f).flows()["start"]), [0, 10, 20])


class Simulations(unittest.TestCase):
    def test_results(self):
        r = ripstop.simulate(small(), diagnose=True, rate_interval=ripstop.US, threads=1)
        flows = r.flows()
        self.assertEqual(len(flows), 2)
        self.assertEqual(list(flows["bytes"]), [100000, 200000])
        self.assertTrue(all(f > s for f, s in zip(flows["finish"], flows["start"])))
        self.assertEqual(int(flows[1]["src"]), 1)
        self.assertEqual(isinstance(flows["start"], array.array), table.numpy is None)
        self.assertEqual(r.jobs()[0].name, "mix")
        self.assertEqual(ripstop.ENDS[r.jobs()[0].end], "done")
        self.assertEqual(r.runs[0].kind, "base")
        self.assertGreater(len(r.runs), 3)
        self.assertGreater(len(r.rates["rate"]), 0)
        self.assertEqual(int(sum(r.sent)), 300000)
        self.assertEqual(r.endpoints[7], "h7")
        self.assertGreater(r.counters()["data_packets"], 70)
        with self.assertRaises(IndexError):
            r.counters(run=9999)
        self.assertEqual(r.as_dict()["runs"][0]["jobs"][0]["name"], "mix")
        for c in r.causes:
            self.assertTrue(c.id and c.what and isinstance(c.evidence, list))

    def test_a_result_outlives_its_fabric(self):
        f = small()
        r = ripstop.simulate(f)
        del f
        self.assertEqual(r.endpoints[0], "h0")
        self.assertEqual(len(r.drops), 0)
        self.assertEqual(len(r.pauses), 0)

    def test_seeds_and_threads(self):
        f = ripstop.Fabric.fat_tree(4, hosts=16)
        f.add_collective(bytes="512KiB", op="all-to-all")
        a, b = (ripstop.simulate(f, seed=5, threads=t).counters() for t in (1, 3))
        self.assertEqual(a, b)

    def test_progress_cancels_and_raises(self):
        f = ripstop.Fabric.single_switch(4).add_collective(bytes="128MiB")
        r = ripstop.simulate(f, threads=1, progress=lambda now, share: True)
        self.assertTrue(r.stopped and not r.complete)

        def fails(now, share):
            raise KeyError("mine")

        with self.assertRaises(KeyError):
            ripstop.simulate(f, threads=1, progress=fails)
        # minutes of work, so that the timer comes first on any machine
        s = ripstop.Simulation(ripstop.Fabric.single_switch(4).add_collective(bytes="64GiB"), threads=1)
        t = threading.Timer(0.05, s.cancel)
        t.start()
        self.assertTrue(s.run().stopped)
        t.join()

    def test_no_work_is_an_error(self):
        with self.assertRaises(ripstop.Error):
            ripstop.simulate(ripstop.Fabric.single_switch(4))


class Sessions(unittest.TestCase):
    def test_what_is_sent_on_news_ends_as_if_known_before(self):
        f = ripstop.Fabric.leaf_spine(leaves=2, spines=2, hosts=8, rate="100G")
        s = ripstop.Session(f, seed=3)
        flows, ends = [], []

        def send(src, dst, size):
            flows.append((src, dst, size, s.now))
            s.send(src, dst, size, user=len(flows) - 1)
            ends.append(0)

        for i in range(4):
            send(i, (i + 3) % 8, 40000)
        s.at(5 * ripstop.US, "now")
        for news in s.run():
            if news.what == ripstop.TIMER:
                self.assertEqual((news.when, news.user, news.message), (5 * ripstop.US, "now", None))
                send(1, 6, 70000)
            if news.what == ripstop.SENT:
                ends[news.user] = news.when
            if news.what == ripstop.DELIVERED and len(flows) < 30:
                at = flows[news.user][1]
                send(at, (at + 1 + news.user % 7) % 8, 1000 * (1 + news.user))
        self.assertEqual(s.unfinished, 0)
        self.assertEqual(s._users, {})
        self.assertEqual([j.name for j in s.end().jobs()], ["session"])
        f.add_flows(flows)
        self.assertEqual(list(ripstop.simulate(f, seed=3).flows()["finish"]), ends)

    def test_refusals(self):
        s = ripstop.Session(small())
        with self.assertRaisesRegex(ripstop.Error, "endpoints 0 to 7, found 3 and 9"):
            s.send(3, 9, 1)
        with self.assertRaisesRegex(ripstop.Error, "class of -1 to 7"):
            s.send(0, 1, 1, traffic_class=9)
        self.assertEqual(s._users, {})
        self.assertEqual(s.step(until=100), [])
        self.assertEqual(s.now, 100)
        with self.assertRaisesRegex(ripstop.Error, "from now on"):
            s.at(99)
        self.assertEqual(s.unfinished, 2)  # the fabric's own flows
        s.end()
        with self.assertRaisesRegex(ripstop.Error, "at its end"):
            s.step()


class Nics(unittest.TestCase):
    def setUp(self):
        self.nic = [ripstop.Nic(address=f"10.0.0.{i}", mac=f"02:00:00:00:00:0{i}", cc="none") for i in (1, 2)]
        self.memory = [n.register(bytearray(8192), va=0) for n in self.nic]
        self.cq = [n.create_cq() for n in self.nic]
        self.qp = [n.create_qp(q) for n, q in zip(self.nic, self.cq)]
        for i in (0, 1):
            self.qp[i].connect(f"10.0.0.{2 - i}", f"02:00:00:00:00:0{2 - i}", self.qp[1 - i].number, mtu=1024,
                               access=15, timeout=8)

    def tearDown(self):
        for n in self.nic:
            n.close()

    def carry(self, now, lose=()):
        """All that either NIC has to send reaches the other at once; pacing takes its time."""
        n = 0
        while now < ripstop.NEVER:
            waits = []
            for i in (0, 1):
                frame, again = self.nic[i].send(now)
                while frame:
                    n += 1
                    if n not in lose:
                        self.assertEqual(self.nic[1 - i].receive(frame, now), "taken")
                    frame, again = self.nic[i].send(now)
                    waits.append(now)
                waits.append(again)
            self.now, now = now, min(waits)

    def test_a_write_and_a_send(self):
        self.memory[0].buffer[:5000] = bytes(range(250)) * 20
        self.qp[0].post("write", self.memory[0].sge(0, 5000), 0, id=4, remote_va=0, remote_key=self.memory[1].key)
        self.carry(0)
        self.assertEqual(self.memory[1].buffer[:5000], self.memory[0].buffer[:5000])
        (done,) = self.cq[0].poll()
        self.assertEqual((done.id, done.status), (4, 0))
        self.qp[1].post_receive(self.memory[1].sge(), id=9)
        self.qp[0].post("send_imm", self.memory[0].sge(0, 10), self.now, imm=77)
        self.carry(self.now)
        (got,) = self.cq[1].poll()
        self.assertEqual((got.id, got.bytes, got.imm), (9, 10, 77))
        self.assertEqual(self.nic[0].counters["tx_data_packets"], 6)

    def test_loss_is_repaired_at_the_deadline(self):
        self.qp[0].post("write", self.memory[0].sge(0, 100), 0, remote_key=self.memory[1].key)
        self.carry(0, lose=(1,))
        self.assertEqual(self.cq[0].poll(), [])
        when = self.nic[0].deadline()
        self.assertTrue(0 < when < ripstop.NEVER)
        self.nic[0].expire(when)
        self.carry(when)
        self.assertEqual(len(self.cq[0].poll()), 1)
        self.assertEqual(self.nic[0].counters["local_ack_timeout_err"], 1)

    def test_refusals(self):
        with self.assertRaises(ripstop.Error):
            ripstop.Nic(cc="nonsense")
        self.nic[0].expire(10)
        with self.assertRaises(ripstop.Error):
            self.nic[0].expire(9)
        with self.assertRaises(ripstop.Error):
            self.memory[0].deregister()
            self.memory[0].deregister()
        self.assertEqual(self.nic[0].receive(b"\0" * 60, 10), "other")
        self.nic[0].close()
        with self.assertRaises(ValueError):
            self.qp[0].rate


LSPCI = """19:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]
\tNUMA node: 0
\tCapabilities: [60] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)
"""


class Audits(unittest.TestCase):
    def test_a_finding(self):
        with tempfile.TemporaryDirectory() as d:
            with open(os.path.join(d, "lspci_vv.txt"), "w") as f:
                f.write(LSPCI)
            folder = ripstop.Audit().read(d, host="gpu01").run(only=["P01"])
        text = ripstop.Audit().read_text("gpu01", "lspci_vv.txt", LSPCI).run(only=["P01"])
        for a in (folder, text):
            (f,) = a.failed
            self.assertEqual((f.id, f.severity, f.places[0].host), ("P01", "major", "gpu01"))
            speed = [e for e in f.evidence if e.name == "link_speed"][0]
            self.assertEqual((speed.value, speed.line), ("160", 5))
            self.assertTrue(f.fixes[0].command and "P01" in a.json())
            self.assertEqual(a.status(), 1)
            self.assertEqual(a.files[0].host, "gpu01")

    def test_refusals(self):
        a = ripstop.Audit()
        with self.assertRaises(ripstop.Error):
            a.read("/nonexistent")
        with self.assertRaises(ripstop.Error):
            a.run(skip=["X99"])
        a.run()
        with self.assertRaises(ripstop.Error):
            a.run()


if __name__ == "__main__":
    unittest.main()
