/* SPDX-License-Identifier: BSD-2-Clause */
#include "sampler/record.h"

#include <stdbool.h>
#include <string.h>

#include "sampler/sampler.h"
#include "share.h"

/* The notes that speak of a frame name one that is there. */
static bool anchor_is_sane(const struct event_sample *event)
{
	bool names_frame = event->anchor == ANCHOR_NOTE_DELTA ||
			   event->anchor == ANCHOR_NOTE_CONFIRM ||
			   event->anchor == ANCHOR_NOTE_AUDIT;

	return event->anchor < ANCHOR_NOTE_CNT &&
	       (!names_frame || event->anchor_index < event->frame_cnt);
}

static size_t sample_size(const struct event_sample *event)
{
	return sizeof(*event) + event->frame_cnt * sizeof(struct frame) +
	       event->native_cnt * sizeof(struct native_frame) + event->kernel_cnt * sizeof(__u64);
}

static bool sample_is_sane(const struct event_sample *event, size_t size)
{
	return size >= sizeof(*event) && event->size <= size &&
	       event->frame_cnt <= KRAIT_MAX_FRAMES && event->native_cnt <= KRAIT_MAX_NATIVE &&
	       event->kernel_cnt <= KRAIT_MAX_KERNEL && event->size == sample_size(event) &&
	       event->native_reason < NATIVE_REASON_CNT && anchor_is_sane(event) &&
	       event->event < KRAIT_MAX_EVENTS && event->outcome < OUTCOME_CNT &&
	       event->reason < REASON_CNT && memchr(event->comm, '\0', sizeof(event->comm));
}

static bool task_is_sane(const struct event_task *event, size_t size)
{
	return size >= sizeof(*event) && event->size == sizeof(*event) &&
	       memchr(event->comm, '\0', sizeof(event->comm));
}

/* Every region lies within the data that came with it. */
static bool code_is_sane(const struct event_code *event, size_t size)
{
	if (size < CODE_EVENT_HEADER || event->size > size || event->region_cnt > CODE_REGIONS ||
	    event->data_size > CODE_DATA_SIZE ||
	    event->size != CODE_EVENT_HEADER + event->data_size)
		return false;
	for (__u32 i = 0; i < event->region_cnt; i++) {
		if (event->regions[i].pos > event->data_size ||
		    event->regions[i].size > event->data_size - event->regions[i].pos)
			return false;
	}
	return true;
}

void record_dispatch(const struct sampler_handler *handler, const void *data, size_t size)
{
	struct event_header header = { .type = EVENT_CNT };
	__u16 type;

	if (size >= sizeof(header))
		memcpy(&header, data, sizeof(header));
	type = header.owner < OWNER_CNT ? header.type : EVENT_CNT;
	if (type == EVENT_SAMPLE && sample_is_sane(data, size)) {
		const struct event_sample *event = data;

		handler->sample(handler->ctx, event, (const struct frame *)(event + 1));
	} else if (type == EVENT_CODE && code_is_sane(data, size)) {
		handler->code(handler->ctx, data);
	} else if (type > EVENT_SAMPLE && type < EVENT_CODE && task_is_sane(data, size)) {
		handler->task(handler->ctx, data);
	} else {
		handler->bad_record(handler->ctx);
	}
}
