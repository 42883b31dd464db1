/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/sampler/record.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <bpf/libbpf.h>

#include "kernel/sampler/sampler.h"
#include "bpf/share.h"

/*
 * Ring buffer: at 997 Hz and 1,000 frames a CPU writes 24 MB/s, and user space drains every 50 ms,
 * so 4 MiB per CPU has room for three missed turns. The kernel demands a power of two.
 */
#define RING_BYTES_PER_CPU (4UL << 20)
#define RING_BYTES_MAX (256UL << 20)

size_t sampler_ring_bytes(size_t want)
{
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);

	if (!want)
		want = RING_BYTES_PER_CPU * (size_t)libbpf_num_possible_cpus();
	while (bytes < want && bytes < RING_BYTES_MAX)
		bytes *= 2;
	return bytes;
}

/* Most elements of each section in a record. */
static const __u16 cnt_max[SECTION_CNT] = {
	[SECTION_FRAMES] = KRAIT_MAX_FRAMES,
	[SECTION_NATIVE] = KRAIT_MAX_NATIVE,
	[SECTION_KERNEL] = KRAIT_MAX_KERNEL,
	[SECTION_WAIT] = 1,
	[SECTION_INTERP] = 1,
	[SECTION_TASKS] = KRAIT_MAX_TASK_PARTS,
	[SECTION_GREENLETS] = KRAIT_MAX_GREENLET_PARTS,
};

/* Bytes of the header and of the sections before this one. */
static size_t section_start(const struct record_sample *record, enum record_section section)
{
	size_t size = sizeof(*record);

	for (enum record_section before = 0; before < section; before++)
		size += (size_t)record->cnt[before] * section_unit(before);
	return size;
}

const void *record__section(const struct record_sample *record, enum record_section section,
			    __u32 *ret_cnt)
{
	*ret_cnt = record->cnt[section];
	/* Most are empty, and then it does not matter where they are. */
	return (const char *)record + (*ret_cnt ? section_start(record, section) : 0);
}

static bool sections_are_sane(const struct record_sample *record)
{
	for (enum record_section section = 0; section < SECTION_CNT; section++) {
		if (record->cnt[section] > cnt_max[section])
			return false;
	}
	return record->size == section_start(record, SECTION_CNT);
}

/* A note about a frame must refer to a frame in the record. */
static bool anchor_is_sane(const struct record_sample *record)
{
	bool names_frame = record->anchor == ANCHOR_NOTE_DELTA ||
			   record->anchor == ANCHOR_NOTE_CONFIRM ||
			   record->anchor == ANCHOR_NOTE_AUDIT;

	return record->anchor < ANCHOR_NOTE_CNT &&
	       (!names_frame || record->anchor_index < record->cnt[SECTION_FRAMES]);
}

static bool sample_is_sane(const struct record_sample *record, size_t size)
{
	return size >= sizeof(*record) && record->size <= size && sections_are_sane(record) &&
	       record->native_reason < NATIVE_REASON_CNT && anchor_is_sane(record) &&
	       record->event < KRAIT_MAX_EVENTS && reason_is_known(record->reason) &&
	       memchr(record->comm, '\0', sizeof(record->comm));
}

static bool task_is_sane(const struct record_task *record, size_t size)
{
	if (size < sizeof(*record) || record->size > size)
		return false;
	return (record->size == sizeof(*record) || record_exec(record)) &&
	       memchr(record->comm, '\0', sizeof(record->comm));
}

static bool mmap_is_sane(const struct record_mmap *record, size_t size)
{
	return size >= sizeof(*record) && record->size == sizeof(*record);
}

static bool clock_is_sane(const struct record_clock *record, size_t size)
{
	return size >= sizeof(*record) && record->size == sizeof(*record) &&
	       memchr(record->comm, '\0', sizeof(record->comm));
}

/* Every region must lie within the data that came with the record. */
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

static bool give_sample(const struct sampler_handler *handler, const void *data, size_t size)
{
	if (!sample_is_sane(data, size))
		return false;
	if (handler->sample)
		handler->sample(handler->ctx, data);
	return true;
}

static bool give_task(const struct sampler_handler *handler, const void *data, size_t size)
{
	if (!task_is_sane(data, size))
		return false;
	if (handler->task)
		handler->task(handler->ctx, data);
	return true;
}

static bool give_code(const struct sampler_handler *handler, const void *data, size_t size)
{
	if (!code_is_sane(data, size))
		return false;
	if (handler->code)
		handler->code(handler->ctx, data);
	return true;
}

static bool give_mmap(const struct sampler_handler *handler, const void *data, size_t size)
{
	if (!mmap_is_sane(data, size))
		return false;
	if (handler->mmap)
		handler->mmap(handler->ctx, data);
	return true;
}

static bool give_clock(const struct sampler_handler *handler, const void *data, size_t size)
{
	if (!clock_is_sane(data, size))
		return false;
	if (handler->clock)
		handler->clock(handler->ctx, data);
	return true;
}

/* Passes the record on if it is well-formed. */
static bool give(const struct sampler_handler *handler, const void *data, size_t size)
{
	struct record_header header;

	if (size < sizeof(header))
		return false;
	memcpy(&header, data, sizeof(header));
	if (header.owner >= OWNER_CNT)
		return false;
	switch ((enum record_type)header.type) {
	case RECORD_SAMPLE:
		return give_sample(handler, data, size);
	case RECORD_EXEC:
	case RECORD_FORK:
	case RECORD_EXIT:
	case RECORD_THREAD_EXIT:
	case RECORD_RUNTIME:
		return give_task(handler, data, size);
	case RECORD_CODE:
		return give_code(handler, data, size);
	case RECORD_MMAP:
		return give_mmap(handler, data, size);
	case RECORD_CLOCK:
		return give_clock(handler, data, size);
	case RECORD_TYPE_CNT:
		break;
	}
	return false;
}

void record_dispatch(const struct sampler_handler *handler, const void *data, size_t size)
{
	if (!give(handler, data, size) && handler->bad_record)
		handler->bad_record(handler->ctx);
}
