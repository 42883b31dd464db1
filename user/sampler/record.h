/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.h - from bytes of the ring buffer to a call of the handler.
 *
 * Must hold: a record whose sizes, type or enums do not add up reaches no one but bad_record().
 */
#ifndef KRAIT_SAMPLER_RECORD_H
#define KRAIT_SAMPLER_RECORD_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "abi.h"

struct sampler_handler;

/*
 * A section of a record that was handed out: its elements, which lie behind the record, and how many there
 * are. Without any, *ret_cnt is 0 and what is returned must not be looked at.
 */
const void *record__section(const struct record_sample *record, enum record_section section,
			    __u32 *ret_cnt);

static inline const struct frame *record__frames(const struct record_sample *record)
{
	__u32 cnt;

	return record__section(record, SECTION_FRAMES, &cnt);
}

/* A process or thread has come, changed or gone: struct record_task, of an exec struct record_exec. */
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
	case RECORD_TYPE_CNT:
		break;
	}
	return false;
}

/* The larger record of an exec, or NULL where it is a plain one. */
static inline const struct record_exec *record_exec(const struct record_task *record)
{
	return record->type == RECORD_EXEC && record->size == sizeof(struct record_exec) ?
		       (const struct record_exec *)record :
		       NULL;
}

/*
 * One that an anchor may shorten, because it carries that many frames, or that says what has become of one.
 * Of others nobody who places anchors needs to know more than the kernel counts.
 */
static inline bool record_is_for_anchors(const struct record_sample *record, __u32 worth)
{
	return (record->cnt[SECTION_FRAMES] >= worth && !record->no_anchors) ||
	       record->anchor > ANCHOR_NOTE_DELTA;
}

/* data is 8-byte aligned, as the ring buffer delivers it. */
void record_dispatch(const struct sampler_handler *handler, const void *data, size_t size);

#endif /* KRAIT_SAMPLER_RECORD_H */
