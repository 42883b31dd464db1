# SPDX-License-Identifier: BSD-2-Clause
"""Computes in ever other copies of a library, all of which it has mapped.

    libraries.py LIBRARY COPIES     prints READY

LIBRARY is a libcrypto; the copies lie beside this file, and belong to whoever comes first."""
import ctypes
import os
import shutil
import sys

library, count = sys.argv[1], int(sys.argv[2])
folder = os.path.dirname(os.path.abspath(__file__))
context, data = ctypes.create_string_buffer(1024), ctypes.create_string_buffer(1 << 18)
copies = []
for number in range(count):
    path = os.path.join(folder, "libcopy%d.so" % number)
    if not os.path.exists(path):
        shutil.copy(library, path)
    copies.append(ctypes.CDLL(path))
print("READY", flush=True)
while True:
    for copy in copies:
        copy.SHA256_Init(context)
        copy.SHA256_Update(context, data, len(data))
