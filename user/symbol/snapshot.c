/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/snapshot.h"

#include <errno.h>
#include <string.h>

static int snapshot_read(void *ctx, __u64 addr, void *buf, size_t len)
{
	const struct event_code *event = ctx;

	for (__u32 i = 0; i < event->region_cnt; i++) {
		__u64 offset = addr - event->regions[i].addr;
		__u32 size = event->regions[i].size;

		if (addr < event->regions[i].addr || offset > size || len > size - offset)
			continue;
		memcpy(buf, event->data + event->regions[i].pos + offset, len);
		return 0;
	}
	return -EFAULT;
}

struct memory snapshot_memory(const struct event_code *event)
{
	return (struct memory){ .read = snapshot_read, .ctx = (void *)event };
}
