/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.h - from bytes of the ring buffer to a call of the handler.
 *
 * Must hold: a record whose sizes, type or enums do not add up reaches no one but bad_record().
 */
#ifndef KRAIT_SAMPLER_RECORD_H
#define KRAIT_SAMPLER_RECORD_H

#include <linux/types.h>
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

/* data is 8-byte aligned, as the ring buffer delivers it. */
void record_dispatch(const struct sampler_handler *handler, const void *data, size_t size);

#endif /* KRAIT_SAMPLER_RECORD_H */
