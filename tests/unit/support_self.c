/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_self.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "process/proc/maps.h"

__u64 self_offset_of(const void *code)
{
	__u64 addr = (__u64)(uintptr_t)code;
	cleanup_maps struct maps maps = { .fd = -1 };
	struct maps_line m;

	assert_int_equal(maps_open(&maps, getpid()), 0);
	while (maps_next(&maps, &m) > 0) {
		if (addr >= m.start && addr < m.end)
			return addr - m.start + m.offset;
	}
	fail_msg("the code is mapped nowhere");
	return 0;
}
