/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a table of debug offsets: accepted offsets lie in the windows that the kernel side
 * reads.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "python/layout/py_offsets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const __u32 versions[] = { 0x030d12f0, 0x030e0af0, 0x030f02f0 };
	__u8 table[PY_TABLE_MAX] = "xdebugpy";
	struct py_offsets o;
	char why[64];
	__u64 version;

	if (!size)
		return 0;
	/* Skips guessing cookie and version: the first byte chooses it. */
	version = data[0] & 3 ? versions[(data[0] & 3) - 1] : 0;
	memcpy(table + 8, &version, sizeof(version));
	size = size - 1 < sizeof(table) - 16 ? size - 1 : sizeof(table) - 16;
	memcpy(table + (version ? 16 : 8), data + 1, size);
	if (!py_offsets_parse(table, size + 16, &o, why, sizeof(why)) &&
	    (o.thread.thread_id > KRAIT_THREAD_WINDOW - 8 ||
	     o.frame.instr_ptr > KRAIT_FRAME_WINDOW - 8 ||
	     o.code.linetable > KRAIT_CODE_WINDOW - 8 || o.frame.owner < 0))
		abort();
	return 0;
}
