#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Every fuzzer, two at a time: that it builds, runs, and finds nothing at once.

In `make check-asan` they are fed thousands of inputs (feeder.c), files that are damaged among them, the same each time, by the
build of the unit tests with sanitizers, and one is run by libFuzzer, which shows that this works. `make check-fuzz` and `make check-all` have libFuzzer, which follows what an input has
reached, for a second each; hours of each are `make fuzz`. All begin alike, so that chance decides of no merge. What is
found stays beside the fuzzers, to be run again.
"""
import concurrent.futures
import os
import pathlib
import shutil
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBFUZZER = ROOT / "build-fuzz-short" / "tests" / "fuzz"
FED = ROOT / "build-asan" / "tests" / "fuzz"
SECONDS = "1"
INPUTS = "5000"
# Every build links this one with libFuzzer.
ONE = "libfuzzer_printable"
AT_ONCE = 2
# Memory limit for one input.
RSS_MIB = 2048
# A small library for those that read ELF files: starting from nothing they would try to guess its magic for hours.
LIBRARIES = ["/lib/x86_64-linux-gnu/libdl.so.2", "/lib/aarch64-linux-gnu/libdl.so.2"]
OF_ELF = ["fuzz_elf_runtime", "fuzz_elf_symbols", "fuzz_plt"]
GOLDEN = ROOT / "tests" / "golden"
# Files for feeder.c to damage.
SEEDS = {**{name: LIBRARIES for name in [*OF_ELF, "fuzz_elf_rows", "fuzz_core_file", "fuzz_dso_reader"]},
         "fuzz_perf_reader": [GOLDEN / "capture-0.1.0" / "old.data"],
         **{name: [GOLDEN / "capture-0.1.0" / "old.data"] for name in ("fuzz_compressed", "fuzz_inject", "fuzz_perf_copy")},
         "fuzz_folded_reader": sorted(GOLDEN.glob("*.folded")),
         "fuzz_printable": [GOLDEN / "hostile.folded"],
         "fuzz_maps": ["/proc/self/maps"], "fuzz_probe_maps": ["/proc/self/maps"],
         "fuzz_claims": ["/proc/self/environ", "/proc/self/cgroup"]}


# Of bpf/record.h, by enum record_type: bytes of a record without sections and texts. An exec has two sizes.
RECORDS = [(0, 136), (1, 80), (1, 112), (2, 80), (5, 80), (6, 152), (7, 80), (8, 96)]


def records(folder):
    """Makes one record of each kind that is whole: by chance alone no size is ever right."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (kind, size) in enumerate(RECORDS):
        (folder / ("record-%d" % number)).write_bytes(struct.pack("<HHI", kind, 0, size) + bytes(size - 8))
    return sorted(folder.glob("record-*"))


def finish(command, **env):
    r = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                       env={**os.environ, **env})
    return r.stdout.decode(errors="replace") + "\nit ended with %d" % r.returncode if r.returncode else None


def fuzz(name):
    """Returns the fuzzer's output if it failed, else None."""
    corpus = LIBFUZZER / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    for library in LIBRARIES:
        if name in OF_ELF and os.path.exists(library):
            shutil.copy(library, corpus / "libdl")
    if name == "fuzz_record":
        records(corpus)
    return finish([str(LIBFUZZER / name), f"-max_total_time={SECONDS}", "-seed=1", "-timeout=10", f"-rss_limit_mb={RSS_MIB}",
                   "-verbosity=0", f"-artifact_prefix={LIBFUZZER}/{name}-", str(corpus)])


def feed(name):
    if name == ONE:
        return finish([str(FED / ONE), "-runs=2000", "-seed=1", "-verbosity=0", f"-artifact_prefix={FED}/{name}-"])
    seeds = [str(seed) for seed in SEEDS.get(name, []) if os.path.exists(seed)]
    if name == "fuzz_record":
        seeds = list(map(str, records(FED / "records")))
    options = "%s:handle_abort=1:hard_rss_limit_mb=%d" % (os.environ.get("ASAN_OPTIONS", ""), RSS_MIB)
    return finish([str(FED / name.replace("fuzz_", "feed_")), INPUTS, SECONDS, f"{FED}/{name}-found", *seeds],
                  ASAN_OPTIONS=options.lstrip(":"))


def main():
    names = sorted(p.stem for p in (ROOT / "tests" / "fuzz").glob("fuzz_*.c"))
    run, folder = (fuzz, LIBFUZZER) if os.environ.get("KRAIT_ALL") else (feed, FED)
    if run is feed:
        names.append(ONE)
    failed = 0
    if not folder.is_dir():
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
