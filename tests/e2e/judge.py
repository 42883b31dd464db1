# SPDX-License-Identifier: BSD-2-Clause
"""Checks recordings: frames as krait writes them, the stacks that a target can have, accounts that balance."""
import json
import math
import re

COMPLETE, TRUNCATED, LOST = "complete.", "truncated.", "lost."


def printable(text):
    """Like user/base/text/printable.c; shows a lone surrogate as the replacement character."""
    def piece(c):
        o = ord(c)
        if c in "\n\t\r":
            return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}[c]
        if o < 0x20 or o == 0x7f:
            return "\\x%02x" % o
        if 0x80 <= o <= 0x9f or o in (0x61c, 0x200e, 0x200f) or 0x2028 <= o <= 0x202e or \
                0x2066 <= o <= 0x2069:
            return "\\u%04x" % o
        return "\ufffd" if 0xd800 <= o <= 0xdfff else c

    return "".join(piece(c) for c in text)


def short_path(path):
    """Like user/base/text/short_path.c."""
    if not path.startswith("/"):
        return path
    match = re.match(r".*/(?:site|dist)-packages/(.*)", path, re.S) or \
        re.match(r".*/python3\.[0-9tbdm]+/(.*)", path, re.S)
    if match:
        return match.group(1)
    parts = path.split("/")
    if parts[-1] in ("__init__.py", "__main__.py"):
        return "/".join(parts[-2:]).lstrip("/")
    return parts[-1] or path


def label(name, path, line=0):
    """Returns a frame as one field of a folded line."""
    text = printable(name)
    if path:
        text += " (%s%s)" % (printable(short_path(path)), ":%d" % line if line > 0 else "")
    return text.replace(";", ":")


# A thread entered this interpreter from another one: krait does not walk its callers there.
VISITING = "[truncated: other interpreter]"


class Oracle:
    """The tries printed by targets/oracle.py; answers questions about sampled stacks."""

    def __init__(self):
        self.codes, self.hot = [], []
        self.keys = []  # by code: what is equal for one function in two tries
        self.children = {}  # (node, label of the frame, code) -> node; -1: the parent of the root
        self.node_code, self.by_label = [], {}

    def add(self, document):
        base, nodes = len(self.codes), []
        self.codes += document["codes"]
        self.keys += [json.dumps(code) for code in document["codes"]]
        self.hot += document["hot"]
        for parent, line, code in document["nodes"]:
            parent = nodes[parent] if parent >= 0 else -1
            nodes.append(self.child(parent, line, code + base))

    def child(self, parent, line, code):
        by_line = self.children.setdefault(parent, {}).setdefault(line, {})
        # A function that occurs in two tries is one function.
        key = self.keys[code]
        if key not in by_line:
            by_line[key] = len(self.node_code)
            self.node_code.append(code)
        return by_line[key]

    def code_of(self, node):
        return self.codes[self.node_code[node]]

    def labels(self, node):
        """Returns possible labels of the leaf: any line of its code."""
        code = self.code_of(node)
        return {label(code["name"], code["file"], line) for line in [0] + code["lines"]}

    def step(self, node, text):
        """Returns the nodes reached by calls from that frame that have that label."""
        code = self.code_of(node)
        found = []
        for line, by_code in self.children.get(node, {}).items():
            if label(code["name"], code["file"], line) == text:
                found += by_code.values()
        return found

    def roots(self):
        return [n for by_code in self.children.get(-1, {}).values() for n in by_code.values()]

    def leaves(self, frames, begin=None):
        """Returns the codes that the last of these frames (root first) can have; empty: the stack is impossible.
        begin: nodes that the first frame may be; default: a root."""
        nodes = self.roots() if begin is None else begin
        for text in frames[:-1]:
            key = (tuple(nodes), text)
            if key not in self.by_label:
                self.by_label[key] = [n for node in nodes for n in self.step(node, text)]
            nodes = self.by_label[key]
        codes = [self.code_of(n) for n in nodes if frames and frames[-1] in self.labels(n)]
        if not codes and len(frames) > 1:
            codes = self.created(frames)
        return codes

    def visit_leaves(self, frames):
        """Like leaves(), for a stack behind the mark for callers in another interpreter. While a generator is being
        left, it has no callers for an instruction and no mark of its own: then it is the first frame."""
        return self.leaves(frames) or \
            self.leaves(frames, [n for n in range(len(self.node_code)) if self.code_of(n)["suspends"]])

    def created(self, frames):
        """Calling a generator function only creates the generator, but that takes a frame, which no trace reports: it
        is at its first line, and its caller knows its name."""
        callers = self.leaves(frames[:-1])
        return [c for c in self.codes if c["suspends"] and
                frames[-1] == label(c["name"], c["file"], c["suspends"]) and
                any(c["short"] in caller["creates"] for caller in callers)]

    def judge(self, stacks, process_frames=1):
        """Returns (illegal stacks, {qualname: [samples as leaf, those of them in the lines of its loop]})."""
        illegal, leaves = [], {}
        for stack, count in stacks:
            # Between two stores of a yield the callers are unknown, and the stack is marked as cut.
            if stack[process_frames:][:1] == ["[truncated: no base]"]:
                continue
            # krait may sample before say_ready() has returned.
            if stack[-1].startswith("say_ready (oracle.py"):
                continue
            frames = stack[process_frames:]
            codes = self.visit_leaves(frames[1:]) if frames[:1] == [VISITING] else self.leaves(frames)
            if not codes:
                illegal.append((stack, count))
                continue
            name, path, loop = codes[0]["name"], codes[0]["file"], codes[0]["loop"]
            entry = leaves.setdefault(name, [0, 0])
            entry[0] += count
            if not path or not loop or stack[-1] in {label(name, path, line) for line in loop}:
                entry[1] += count
        return illegal, leaves


def complete_part(python):
    """If C calls Python all the time, 3.11 and 3.12 have a moment in which the stack is unreadable
    (bpf/python/walk.h)."""
    return 0.97 if python.minor in ("3.11", "3.12") else 0.99


def show(stacks):
    """Formats stacks for a message: the leaf side matters."""
    return "\n".join("%d  %s%s" % (count, "… " if len(stack) > 12 else "", ";".join(stack[-12:]))
                     for stack, count in sorted(stacks, key=lambda s: -s[1])[:20])


def check_accounts(tap, name, recording, complete=0.0):
    """Checks that each interrupt has one reason and that each sample with a stack is in the output once."""
    r, problems = recording, []
    interrupts = r.stats.get("interrupts", -1)
    reasons = r.total(COMPLETE) + r.total(TRUNCATED) + r.total(LOST)
    samples = r.total(COMPLETE) + r.total(TRUNCATED)
    if r.stats.get("balance") != 0:
        problems.append("balance %s" % r.stats.get("balance"))
    if interrupts != reasons:
        problems.append("%d interrupts, %d reasons" % (interrupts, reasons))
    if r.samples() != samples:
        problems.append("%d samples in the folded file, %d in the accounts" % (r.samples(), samples))
    # The expected part, plus what chance adds in few samples.
    others = (1 - complete) * max(0, interrupts)
    if interrupts - r.total(COMPLETE) > others + 4 * math.sqrt(others):
        problems.append("%d of %d complete" % (r.total(COMPLETE), interrupts))
    return tap.ok(not problems, name + ": the accounts balance", *problems, r.err)


def check_stacks(tap, name, recording, oracle, process_frames=1):
    """Checks that every sample is a stack that the target can have, and that the hot functions were seen working in
    the lines of their loops."""
    illegal, leaves = oracle.judge(recording.stacks, process_frames)
    tap.ok(recording.stacks and not illegal, name + ": every stack is one the target can have",
           "%d samples" % recording.samples(), show(illegal), recording.err)
    missing = [h for h in oracle.hot if h not in leaves]
    tap.ok(not missing, name + ": every function at work was seen", "missing: %s" % missing)
    # In few samples, chance may put some more elsewhere.
    astray = {n: (total, there) for n, (total, there) in leaves.items() if n in oracle.hot and total >= 50 and
              there < 0.9 * total - 4 * math.sqrt(0.09 * total)}
    tap.ok(not astray, name + ": work is in the lines that do it", astray)
    tap.equal(recording.stats.get("unknown_frames"), 0, name + ": no frame is unknown")
