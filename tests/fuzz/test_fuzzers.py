#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every fuzzer, two at a time, for a second, or in `make check` for so many inputs if that is less: that it builds, runs,
and finds nothing at once.

Hours of each are `make fuzz`; here all begin alike, so that chance decides of no merge. What is found stays in
build-fuzz-short/tests/fuzz/, to be run again.
"""
# run-tests: beside others; takes long
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build-fuzz-short" / "tests" / "fuzz"
SECONDS = "1"
# Those that take the simplest files have tried a hundred thousand in a second.
INPUTS = ["-runs=10000"] if os.environ.get("KRAIT_MATRIX") else []
AT_ONCE = 2
# A small library for those that read ELF files: from nothing they would be at its magic for hours.
LIBRARIES = ["/lib/x86_64-linux-gnu/libdl.so.2", "/lib/aarch64-linux-gnu/libdl.so.2"]
OF_ELF = ["fuzz_elf_runtime", "fuzz_elf_symbols", "fuzz_plt"]


SPLIT = """static inline __attribute__((always_inline)) int twice(int a)
{
	for (int i = 0; i < a; i++)
		a = a * 31 + (a >> 3);
	return a;
}
int spin(int n) { return n > 3 ? twice(n) + twice(n + 1) : 1; }
"""


def seed_split(corpus):
    """A .dwo file of each version, behind what fuzz_dwarf_split.c takes from the front."""
    if not shutil.which("gcc") or not shutil.which("readelf"):
        return
    for version in (4, 5):
        dwo = corpus / "seed.dwo"
        subprocess.run(["gcc", f"-gdwarf-{version}", "-gsplit-dwarf", "-O2", "-x", "c", "-c", "-", "-o", "seed.o"], input=SPLIT,
                       text=True, cwd=corpus, env=dict(os.environ, CCACHE_DISABLE="1"), check=True)
        shown = subprocess.run(["readelf", "--debug-dump=info", dwo], text=True, stdout=subprocess.PIPE, check=True,
                               stderr=subprocess.DEVNULL).stdout
        number = int(re.search(r"(?i)dwo_id *: *(0x[0-9a-f]+)", shown.replace("DWO ID", "dwo_id")).group(1), 16)
        (corpus / f"split-{version}").write_bytes(bytes([version == 4]) + number.to_bytes(8, "little") + dwo.read_bytes())
        dwo.unlink()
        (corpus / "seed.o").unlink()


def seed(name, corpus):
    for library in LIBRARIES:
        if name in OF_ELF and os.path.exists(library):
            shutil.copy(library, corpus / "libdl")
    if name == "fuzz_dwarf_split":
        seed_split(corpus)


def run(name):
    """The fuzzer's output where it has failed, else None."""
    corpus = BUILD / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    seed(name, corpus)
    command = [str(BUILD / name), f"-max_total_time={SECONDS}", *INPUTS, "-seed=1", "-timeout=10",
               "-rss_limit_mb=2048", "-verbosity=0", f"-artifact_prefix={BUILD}/{name}-",
               str(corpus)]
    r = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=120)
    return r.stdout.decode(errors="replace") if r.returncode else None


def main():
    names = sorted(p.stem for p in (ROOT / "tests" / "fuzz").glob("fuzz_*.c"))
    failed = 0
    if not BUILD.is_dir():
        print("1..0 # SKIP the fuzzers are not built: make check-fuzz")
        return 0
    print(f"1..{len(names)}")
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for number, (name, output) in enumerate(zip(names, pool.map(run, names)), 1):
            print(f"{'ok' if output is None else 'not ok'} {number} - {name}", flush=True)
            if output is not None:
                failed += 1
                print("\n".join("# " + line for line in output.splitlines()[-40:]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
