#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""E: the rights of each krait process during a recording, according to the kernel."""
import os
import re
import time

import attack

CAPS = {"DAC_OVERRIDE": 1, "DAC_READ_SEARCH": 2, "KILL": 5, "SETGID": 6, "SETUID": 7, "SYS_CHROOT": 18, "SYS_PTRACE": 19, "SYSLOG": 34,
        "PERFMON": 38, "BPF": 39, "CHECKPOINT_RESTORE": 40}
# Needed to open another user's memory for the one write.
PROBER = ("SYS_PTRACE", "CHECKPOINT_RESTORE", "DAC_READ_SEARCH", "DAC_OVERRIDE")
# It forks the parsers and never holds anybody's file.
STARTER = ("SETUID", "SETGID", "SYS_CHROOT", "KILL")
# What the issue allows krait itself once it samples.
MAIN = ("BPF", "PERFMON", "SYS_PTRACE", "CHECKPOINT_RESTORE", "SYSLOG", "DAC_READ_SEARCH")


def bits(names):
    return sum(1 << CAPS[n] for n in names)


def words(mask):
    names = {bit: name for name, bit in CAPS.items()}
    return [names.get(i, "capability %d" % i) for i in range(64) if mask >> i & 1]


def effective(said):
    return int(said["CapEff"], 16)


def core_limit(pid):
    found = re.search(r"Max core file size +(\S+)", attack.proc_text(pid, "limits"))
    return found and found[1]



class Look:
    """Looks at all processes of one krait while it records."""

    def __init__(self, k):
        self.main = (attack.status(k.pid), list(attack.h.descriptors(k.pid).values()), core_limit(k.pid))
        self.workers = {}
        for pid in attack.children(k.pid):
            name = attack.proc_text(pid, "cmdline").split("\0")[0]
            # Parsers are forks of a starter, which krait or a prober started.
            parent = attack.status(pid).get("PPid", "0").strip()
            starter = attack.proc_text(parent, "cmdline").split("\0")[0] != "krait-parser"
            if name == "krait-parser" and starter:
                name += " (starter)"
            said = attack.status(pid)
            # A freshly forked parser is entering its sandbox and has no job yet.
            for _ in range(50):
                if name != "krait-parser" or not said.get("Uid", "0").startswith("0"):
                    break
                time.sleep(0.02)
                said = attack.status(pid)
            root = "?"
            try:
                root = os.readlink("/proc/%d/root" % pid)
                said["Namespace"] = os.readlink("/proc/%d/ns/user" % pid)
            except OSError:
                pass
            if said:
                self.workers[pid] = (name, said, list(attack.h.descriptors(pid).values()), root)


def check_main(scene, look, allowed, more=""):
    said, _, core = look.main
    extra = effective(said) & ~bits(allowed)
    scene.ok(not extra, "krait%s has no capability more than it needs" % more, words(extra))
    permitted = int(said["CapPrm"], 16) & ~bits(allowed)
    if permitted:
        print("# permitted, though not effective: %s" % words(permitted))
    scene.ok(said["NoNewPrivs"].strip() == "1", "krait%s gains no rights by exec" % more, said["NoNewPrivs"])
    scene.ok(core == "0", "krait%s leaves no core file" % more, core)


def check_workers(scene, look):
    scene.ok(look.workers, "krait has workers")
    for pid, (name, said, links, root) in look.workers.items():
        if not name.startswith("krait-"):
            continue
        dangerous = [x for x in links if re.search("bpf|perf_event", x)]
        scene.ok(not dangerous, name + " has no descriptor of BPF or of perf events", links)
        scene.ok(said.get("NoNewPrivs", "").strip() == "1", name + " gains no rights by exec", said)
        if name in ("krait-parser", "krait-fetcher"):
            scene.ok(not effective(said), name + " has no capability", words(effective(said)))
            uids = said["Uid"].split()
            # A parser of a later prober has a user namespace instead, because by then krait can no longer grant ids.
            apart = said.get("Namespace") not in (None, os.readlink("/proc/self/ns/user"))
            scene.ok(len(set(uids)) == 1 and (apart or uids[0] not in ("0", "65534")),
                     name + " is nobody else's user",
                     uids)
            scene.ok(said.get("Groups", "").strip() in ("", uids[0]), name + " is in no group",
                     said.get("Groups"))
        if name == "krait-parser":
            scene.ok(said.get("Seccomp", "").strip() == "2", name + " has a filter of system calls",
                     said.get("Seccomp"))
            scene.ok(root != "/" and not os.path.exists("/proc/%d/root/etc" % pid), name + " has an empty root",
                     root)
        files = [x for x in links if x.startswith("/") and not x.startswith(("/dev/null", "/proc", "/sys"))]
        allowed = {"krait-prober": PROBER, "krait-parser (starter)": STARTER}.get(name)
        if allowed:
            extra = effective(said) & ~bits(allowed)
            scene.ok(not extra, name + " has no capability more than it needs", words(extra))
        if name.endswith("(starter)"):
            scene.ok(all(x.startswith("/run/krait-") for x in files), name + " has nobody's files", files)
        print("# %s: uid %s, %s, %s" % (name, said["Uid"].split()[1], words(effective(said)), files))


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "E", "3.15")
    if python:
        with attack.Scene(tap, "E: record -a", python) as scene:
            looks = []
            scene.record("-a", native=True, during=lambda k: looks.append(Look(k)))
            check_main(scene, looks[0], MAIN)
            check_workers(scene, looks[0])
        with attack.Scene(tap, "E: record -- COMMAND", python) as scene:
            command = attack.python_line(python, attack.BYSTANDER_UID, "-c", "while True: pass")
            k = attack.Krait("record", "-o", "x.folded", "--", *command)
            k.recording()
            attack.time.sleep(0.3)
            look = Look(k)
            k.interrupt(20)
            check_main(scene, look, (*MAIN, "KILL"), " with a command")
        with attack.Scene(tap, "E: what a command inherits", python) as scene:
            wanted = attack.subprocess.run(["grep", "-E", "^(Cap|NoNew|Seccomp:)", "/proc/self/status"],
                                           capture_output=True, encoding="ascii").stdout
            k = attack.krait("record", "-o", "x.folded", "--", "sh", "-c",
                             "grep -E '^(Cap|NoNew|Seccomp:)' /proc/self/status; nice; ulimit -c; ulimit -n; "
                             "ls /proc/self/fd | wc -l")
            plain = attack.subprocess.run(["sh", "-c", "nice; ulimit -c; ulimit -n"], capture_output=True,
                                          encoding="ascii").stdout
            got = k.said
            scene.ok(all(line in got for line in wanted.splitlines()), "the rights it would have without krait",
                     wanted, got)
            scene.ok(plain in got, "the priority and the limits that it would have", plain, got)
    attack.end(tap)


if __name__ == "__main__":
    main()
