/* SPDX-License-Identifier: BSD-2-Clause */
#include "sampler/record.h"

#include <stdbool.h>
#include <string.h>

#include "sampler/sampler.h"
#include "share.h"

/* The notes that speak of a frame name one that is there. */
static bool anchor_is_sane(const struct record_sample *record)
{
	bool names_frame = record->anchor == ANCHOR_NOTE_DELTA ||
			   record->anchor == ANCHOR_NOTE_CONFIRM ||
			   record->anchor == ANCHOR_NOTE_AUDIT;

	return record->anchor < ANCHOR_NOTE_CNT &&
	       (!names_frame || record->anchor_index < record->frame_cnt);
}

static size_t sample_size(const struct record_sample *record)
{
	return sizeof(*record) + record->frame_cnt * sizeof(struct frame) +
	       record->native_cnt * sizeof(struct native_frame) +
	       record->kernel_cnt * sizeof(__u64);
}

static bool sample_is_sane(const struct record_sample *record, size_t size)
{
	return size >= sizeof(*record) && record->size <= size &&
	       record->frame_cnt <= KRAIT_MAX_FRAMES && record->native_cnt <= KRAIT_MAX_NATIVE &&
	       record->kernel_cnt <= KRAIT_MAX_KERNEL && record->size == sample_size(record) &&
	       record->native_reason < NATIVE_REASON_CNT && anchor_is_sane(record) &&
	       record->event < KRAIT_MAX_EVENTS && reason_is_known(record->reason) &&
	       memchr(record->comm, '\0', sizeof(record->comm));
}

static bool task_is_sane(const struct record_task *record, size_t size)
{
	return size >= sizeof(*record) && record->size == sizeof(*record) &&
	       memchr(record->comm, '\0', sizeof(record->comm));
}

/* Every region lies within the data that came with it. */
static bool code_is_sane(const struct record_code *record, size_t size)
{
	if (size < CODE_RECORD_HEADER || record->size > size || record->region_cnt > CODE_REGIONS ||
	    record->data_size > CODE_DATA_SIZE ||
	    record->size != CODE_RECORD_HEADER + record->data_size)
		return false;
	for (__u32 i = 0; i < record->region_cnt; i++) {
		if (record->regions[i].pos > record->data_size ||
		    record->regions[i].size > record->data_size - record->regions[i].pos)
			return false;
	}
	return true;
}

void record_dispatch(const struct sampler_handler *handler, const void *data, size_t size)
{
	struct record_header header = { .type = RECORD_TYPE_CNT };
	__u16 type;

	if (size >= sizeof(header))
		memcpy(&header, data, sizeof(header));
	type = header.owner < OWNER_CNT ? header.type : RECORD_TYPE_CNT;
	if (type == RECORD_SAMPLE && sample_is_sane(data, size)) {
		const struct record_sample *record = data;

		handler->sample(handler->ctx, record, (const struct frame *)(record + 1));
	} else if (type == RECORD_CODE && code_is_sane(data, size)) {
		handler->code(handler->ctx, data);
	} else if (type > RECORD_SAMPLE && type < RECORD_CODE && task_is_sane(data, size)) {
		handler->task(handler->ctx, data);
	} else {
		handler->bad_record(handler->ctx);
	}
}
