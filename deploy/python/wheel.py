#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the wheel of krait: the static executable as a script, and the package krait. The same files give the same bytes.

usage: wheel.py VERSION EXECUTABLE LICENSES OUT
"""
import base64
import hashlib
import os
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
# A static executable fits each Linux: the oldest names that installers know.
PLATFORMS = ("manylinux2014", "manylinux_2_17", "musllinux_1_1")
MACHINES = {62: "x86_64", 183: "aarch64"}
# Of zip files; there is no earlier time.
TIME = (1980, 1, 1, 0, 0, 0)


def read(*parts):
    with open(os.path.join(*parts), "rb") as file:
        return file.read()


def main():
    version, executable, licences, out = sys.argv[1:]
    program = read(executable)
    machine = MACHINES[int.from_bytes(program[18:20], "little")]
    tag = "py3-none-" + ".".join("%s_%s" % (p, machine) for p in PLATFORMS)
    info = "krait_profiler-%s.dist-info" % version
    about = [
        "Metadata-Version: 2.1",
        "Name: krait-profiler",
        "Version: " + version,
        "Summary: Sampling profiler for every CPython process of a Linux machine, exact and without stopping them",
        "License: BSD-2-Clause; the executable also holds the libraries in its LICENSES",
        "License-File: LICENSE",
        "License-File: LICENSES",
        "Requires-Python: >=3.8",
        "Classifier: Environment :: Console",
        "Classifier: Framework :: IPython",
        "Classifier: License :: OSI Approved :: BSD License",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Programming Language :: Python :: Implementation :: CPython",
        "Classifier: Topic :: Software Development :: Debuggers",
        "Keywords: profiler,ebpf,performance,flamegraph",
        "Description-Content-Type: text/markdown",
        "",
        read(HERE, "README.md").decode(),
    ]
    wheel = ["Wheel-Version: 1.0", "Generator: krait", "Root-Is-Purelib: false"]
    wheel += ["Tag: py3-none-%s_%s" % (p, machine) for p in PLATFORMS]
    files = {"krait/" + name: read(HERE, "krait", name) for name in sorted(os.listdir(os.path.join(HERE, "krait"))) if name.endswith(".py")}
    files["krait_profiler-%s.data/scripts/krait" % version] = program
    files[info + "/LICENSE"] = read(TOP, "LICENSE")
    files[info + "/LICENSES"] = read(licences)
    files[info + "/METADATA"] = "\n".join(about).encode()
    files[info + "/WHEEL"] = ("\n".join(wheel) + "\n").encode()
    record = ["%s,sha256=%s,%d" % (name, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), len(data))
              for name, data in files.items()]
    files[info + "/RECORD"] = ("\n".join(record) + "\n%s/RECORD,,\n" % info).encode()
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, "krait_profiler-%s-%s.whl" % (version, tag))
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
            archive.writestr(entry, data, compresslevel=9)
    print("krait: wheel: wrote %s (%.1f MB)" % (path, os.path.getsize(path) / 1e6))


main()
