/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_record.c - any bytes as a record of the ring buffer: what is handed out lies within them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/record.h"
#include "sampler/sampler.h"

static volatile uint64_t sum;

static void on_sample(void *ctx, const struct event_sample *event, const struct frame *frames)
{
	if (event->outcome >= OUTCOME_CNT || event->reason >= REASON_CNT)
		abort();
	sum += strlen(event->comm);
	for (__u32 i = 0; i < event->frame_cnt; i++)
		sum += frames[i].code_addr + frames[i].fingerprint;
}

static void on_task(void *ctx, const struct event_task *event)
{
	sum += event->pid + event->parent_pid + event->type;
}

/* The texts and the line table that are claimed to be there are. */
static void on_code(void *ctx, const struct event_code *event)
{
	for (__u32 i = 0; i < event->region_cnt; i++) {
		for (__u32 k = 0; k < event->regions[i].size; k++)
			sum += event->data[event->regions[i].pos + k];
	}
}

static void on_bad(void *ctx)
{
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sampler_handler handler = {
		.sample = on_sample,
		.task = on_task,
		.code = on_code,
		.bad_record = on_bad,
	};
	void *record = malloc(size ? size : 1); /* aligned, and with an end */

	memcpy(record, data, size);
	record_dispatch(&handler, record, size);
	free(record);
	return 0;
}
