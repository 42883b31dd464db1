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

/* The parts of a sample that has been checked, behind its frames. */
static inline const struct native_frame *sample_native(const struct record_sample *record,
						       const struct frame *frames)
{
	return (const struct native_frame *)(frames + record->frame_cnt);
}

static inline const __u64 *sample_kernel(const struct record_sample *record,
					 const struct frame *frames)
{
	return (const __u64 *)(sample_native(record, frames) + record->native_cnt);
}

/* data is 8-byte aligned, as the ring buffer delivers it. */
void record_dispatch(const struct sampler_handler *handler, const void *data, size_t size);

#endif /* KRAIT_SAMPLER_RECORD_H */
