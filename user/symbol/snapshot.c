/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/snapshot.h"

#include <errno.h>
#include <string.h>

static int snapshot_read(void *ctx, __u64 addr, void *buf, size_t len)
{
	const struct record_code *record = ctx;

	for (__u32 i = 0; i < record->region_cnt; i++) {
		__u64 offset = addr - record->regions[i].addr;
		__u32 size = record->regions[i].size;

		if (addr < record->regions[i].addr || offset > size || len > size - offset)
			continue;
		memcpy(buf, record->data + record->regions[i].pos + offset, len);
		return 0;
	}
	return -EFAULT;
}

struct memory snapshot_memory(const struct record_code *record)
{
	return (struct memory){ .read = snapshot_read, .ctx = (void *)record };
}
