/* SPDX-License-Identifier: BSD-2-Clause */
#include "sampler/record.h"

#include <stdbool.h>
#include <string.h>

#include "sampler/sampler.h"

/* The notes that speak of a frame name one that is there. */
static bool anchor_is_sane(const struct event_sample *event)
{
	bool names_frame = event->anchor == ANCHOR_NOTE_DELTA ||
			   event->anchor == ANCHOR_NOTE_CONFIRM ||
			   event->anchor == ANCHOR_NOTE_AUDIT;

	return event->anchor < ANCHOR_NOTE_CNT &&
	       (!names_frame || event->anchor_index < event->frame_cnt);
}

static bool sample_is_sane(const struct event_sample *event, size_t size)
{
	return size >= sizeof(*event) && event->size <= size &&
	       event->frame_cnt <= KRAIT_MAX_FRAMES &&
	       event->size == sizeof(*event) + event->frame_cnt * sizeof(struct frame) &&
	       anchor_is_sane(event) && event->outcome < OUTCOME_CNT && event->reason < REASON_CNT &&
	       memchr(event->comm, '\0', sizeof(event->comm));
}

static bool task_is_sane(const struct event_task *event, size_t size)
{
	return size >= sizeof(*event) && event->size == sizeof(*event);
}

void record_dispatch(const struct sampler_handler *handler, const void *data, size_t size)
{
	__u32 type = EVENT_CNT;

	if (size >= sizeof(type))
		memcpy(&type, data, sizeof(type));
	if (type == EVENT_SAMPLE && sample_is_sane(data, size)) {
		const struct event_sample *event = data;

		handler->sample(handler->ctx, event, (const struct frame *)(event + 1));
	} else if (type > EVENT_SAMPLE && type < EVENT_CNT && task_is_sane(data, size)) {
		handler->task(handler->ctx, data);
	} else {
		handler->bad_record(handler->ctx);
	}
}
