/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_record.c - any bytes as a record of the ring buffer: what is handed out lies within it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/share.h"
#include "kernel/sampler/record.h"
#include "kernel/sampler/sampler.h"

static volatile uint64_t sum;

static uint64_t sum_of(const void *data, size_t size)
{
	const unsigned char *bytes = data;
	uint64_t ret = 0;

	while (size)
		ret += bytes[--size];
	return ret;
}

static void on_sample(void *ctx, const struct record_sample *record)
{
	const unsigned char *bytes = (const unsigned char *)record;

	if (!reason_is_known(record->reason) || record->owner >= OWNER_CNT)
		abort();
	sum += strlen(record->comm) + record->ids.uid + record->ids.gid + record->ids.groups;
	for (enum record_section section = 0; section < SECTION_CNT; section++) {
		__u32 cnt;

		bytes = record__section(record, section, &cnt);
		for (__u32 i = 0; i < cnt * section_unit(section); i++)
			sum += bytes[i];
	}
}

static void on_task(void *ctx, const struct record_task *record)
{
	const struct record_exec *exec = record_exec(record);

	if (!record_is_task(record->type) || record->owner >= OWNER_CNT)
		abort();
	sum += record->pid + record->parent_pid + record->type + strlen(record->comm) +
	       record->uid + record->file;
	sum += exec ? sum_of(&exec->file, sizeof(exec->file)) : 0;
}

/* The claimed texts and line table are really there. */
static void on_code(void *ctx, const struct record_code *record)
{
	for (__u32 i = 0; i < record->region_cnt; i++) {
		for (__u32 k = 0; k < record->regions[i].size; k++)
			sum += record->data[record->regions[i].pos + k];
	}
}

static void on_mmap(void *ctx, const struct record_mmap *record)
{
	sum += record->pid + record->last + sum_of(&record->file, sizeof(record->file));
}

static void on_clock(void *ctx, const struct record_clock *record)
{
	if (record->owner >= OWNER_CNT)
		abort();
	sum += strlen(record->comm) + record->cpu_ns + record->tid + record->flags;
}

/* Each record is either handed out, once, or bad. */
static void on_bad_record(void *ctx)
{
	++*(unsigned *)ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned bad = 0;
	const struct sampler_handler handler = {
		.sample = on_sample,
		.task = on_task,
		.code = on_code,
		.mmap = on_mmap,
		.clock = on_clock,
		.bad_record = on_bad_record,
		.ctx = &bad,
	};
	void *record = malloc(size ? size : 1); /* aligned, and of exact size */

	memcpy(record, data, size);
	record_dispatch(&handler, record, size);
	if (bad > 1)
		abort();
	free(record);
	return 0;
}
