/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/snapshot.h"

#include <errno.h>
#include <string.h>

static int snapshot_read(void *ctx, __u64 addr, void *buf, size_t len)
{
	const struct record_code *record = ctx;

	for (__u32 i = 0; i < record->region_cnt; i++) {
		__u64 offset = addr - record->regions[i].addr;
		__u32 size = record->regions[i].size;

		if (addr < record->regions[i].addr || offset > size || len > size - offset)
			continue;
		memcpy(buf, record->data + record->regions[i].pos + offset, len);
		return 0;
	}
	return -EFAULT;
}

static struct memory snapshot_memory(const struct record_code *record)
{
	return (struct memory){ .read = snapshot_read, .ctx = (void *)record };
}

int snapshot_read_entry(const struct record_code *record, const struct py_offsets *offsets,
			__u64 type_addr, struct code_entry *e)
{
	struct memory memory = snapshot_memory(record);
	int err = code_head_read(&memory, offsets, record->code_addr, &e->head);
	struct code_head head = e->head;

	if (!record->has_lines)
		head.linetable_addr = 0;

	if (!err && e->head.fingerprint != record->fingerprint)
		err = -EINVAL;
	if (!err)
		err = code_head_check_type(&memory, offsets, &e->head, type_addr);
	if (!err)
		err = code_body_read(&memory, offsets, &head, &e->body);
	if (err)
		return err;
	e->code_addr = record->code_addr;
	e->last_instr_off = FRAME_INSTR_UNKNOWN;
	e->last_position = (struct source_position){ -1, -1, -1, -1 };
	return 0;
}

int snapshot_read_head(const struct record_code *record, const struct py_offsets *offsets,
		       struct code_head *ret)
{
	struct memory memory = snapshot_memory(record);

	return code_head_read(&memory, offsets, record->code_addr, ret);
}
