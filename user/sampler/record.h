/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.h - from bytes of the ring buffer to a call of the handler.
 *
 * Must hold: a record whose sizes, type or enums do not add up reaches no one but bad_record().
 */
#ifndef KRAIT_SAMPLER_RECORD_H
#define KRAIT_SAMPLER_RECORD_H

#include <stddef.h>

struct sampler_handler;

/* data is 8-byte aligned, as the ring buffer delivers it. */
void record_dispatch(const struct sampler_handler *handler, const void *data, size_t size);

#endif /* KRAIT_SAMPLER_RECORD_H */
