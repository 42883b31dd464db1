/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.h - turns bytes of the ring buffer into calls of the handler.
 *
 * Must hold: a record whose sizes, type or enums are inconsistent reaches only bad_record().
 */
#ifndef KRAIT_KERNEL_SAMPLER_RECORD_H
#define KRAIT_KERNEL_SAMPLER_RECORD_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi.h"

struct sampler_handler;

/*
 * A section of a record that was handed out: its elements, which follow the record, and their
 * number. If *ret_cnt is 0, do not use the returned pointer.
 */
const void *record__section(const struct record_sample *record, enum record_section section,
			    __u32 *ret_cnt);

static inline const struct frame *record__frames(const struct record_sample *record)
{
	__u32 cnt;

	return record__section(record, SECTION_FRAMES, &cnt);
}

/*
 * A process or thread started, changed or ended: struct record_task, or struct record_exec for an
 * exec.
 */
static inline bool record_is_task(__u16 type)
{
	switch ((enum record_type)type) {
	case RECORD_EXEC:
	case RECORD_FORK:
	case RECORD_EXIT:
	case RECORD_THREAD_EXIT:
	case RECORD_RUNTIME:
		return true;
	case RECORD_SAMPLE:
	case RECORD_CODE:
	case RECORD_MMAP:
	case RECORD_CLOCK:
	case RECORD_TYPE_CNT:
		break;
	}
	return false;
}

/* The larger record of an exec; NULL if it is a plain one. */
static inline const struct record_exec *record_exec(const struct record_task *record)
{
	return record->type == RECORD_EXEC && record->size == sizeof(struct record_exec) ?
		       (const struct record_exec *)record :
		       NULL;
}

/*
 * Can an anchor shorten this record, because it carries that many frames, or does it report on an
 * anchor? For all others the kernel's counts are enough to place anchors.
 */
static inline bool record_is_for_anchors(const struct record_sample *record, __u32 worth)
{
	return (record->cnt[SECTION_FRAMES] >= worth && !record->no_anchors) ||
	       record->anchor > ANCHOR_NOTE_DELTA;
}

/* data must be 8-byte aligned, as the ring buffer delivers it. */
void record_dispatch(const struct sampler_handler *handler, const void *data, size_t size);

#endif /* KRAIT_KERNEL_SAMPLER_RECORD_H */
