/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_script_records.c - ring records of a handmade log of inputs: lives, code, samples
 * (replay_script.h).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay_script.h"
#include "kernel/maps/known_files.h"
#include "bpf/share.h"

#define PERIOD_NS 1000000

static void put_task(struct script *s, double ms, enum record_type type, const struct actor *a,
		     struct record_task record)
{
	record.type = type;
	record.size = sizeof(record);
	record.time_ns = script_ns(ms);
	record.pid = (__u32)a->pid;
	if (a->uid < OWNER_CNT)
		record.owner = a->uid;
	if (type != RECORD_RUNTIME && !record.runtime_addr)
		record.layout = KRAIT_NO_LAYOUT;
	if (!record.tid)
		record.tid = record.pid;
	if (!record.start_ns)
		record.start_ns = a->start_ns;
	snprintf(record.comm, sizeof(record.comm), "%s", a->comm);
	script_put(s, INPUT_RECORD, ms, NULL, 0, &record, sizeof(record));
}

void script_fork(struct script *s, double ms, const struct actor *child, pid_t parent)
{
	put_task(s, ms, RECORD_FORK, child, (struct record_task){ .parent_pid = (__u32)parent });
}

void script_fork_of(struct script *s, double ms, const struct actor *child,
		    const struct actor *parent)
{
	put_task(s, ms, RECORD_FORK, child,
		 (struct record_task){ .parent_pid = (__u32)parent->pid,
				       .parent_start_ns = parent->start_ns });
}

void script_exec(struct script *s, double ms, const struct actor *a)
{
	put_task(s, ms, RECORD_EXEC, a, (struct record_task){ 0 });
}

void script_known_exec(struct script *s, double ms, const struct actor *a, __u32 layout)
{
	put_task(s, ms, RECORD_EXEC, a,
		 (struct record_task){
			 .layout = layout, .runtime_addr = IMAGE_ADDR, .file = KNOWN_FILE_NONE });
}

void script_runtime(struct script *s, double ms, const struct actor *a, __u32 layout)
{
	put_task(s, ms, RECORD_RUNTIME, a,
		 (struct record_task){
			 .layout = layout, .runtime_addr = IMAGE_ADDR, .file = KNOWN_FILE_NONE });
}

void script_map(struct script *s, double ms, const struct actor *a, const struct probe_mapping *m,
		__u64 inode, bool last)
{
	const struct record_mmap record = {
		.type = RECORD_MMAP,
		.size = sizeof(record),
		.start_ns = a->start_ns,
		.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.file = { .inode = inode,
			  .size = inode ? 4096 : 0,
			  .ctime_sec = inode ? 1 : 0,
			  .dev = inode ? 1 : 0 },
		.pid = (__u32)a->pid,
		.last = last,
	};

	script_put(s, INPUT_RECORD, ms, NULL, 0, &record, sizeof(record));
}

void script_exit(struct script *s, double ms, const struct actor *a, __u64 dropped)
{
	put_task(s, ms, RECORD_EXIT, a, (struct record_task){ .dropped = dropped });
}

void script_mmap(struct script *s, double ms, const struct actor *a)
{
	script_map(s, ms, a, &(struct probe_mapping){ .start = 0x10000, .end = 0x20000 }, 0, false);
}

void script_thread_exit(struct script *s, double ms, const struct actor *a, pid_t tid,
			__u64 start_ns)
{
	put_task(s, ms, RECORD_THREAD_EXIT, a,
		 (struct record_task){ .tid = (__u32)tid, .start_ns = start_ns });
}

/* The process's memory is small: one region. */
void script_code(struct script *s, double ms, const struct actor *a, char function)
{
	struct record_code *record = calloc(1, sizeof(*record));
	size_t used = a->program->image->used;

	assert_true(used <= CODE_DATA_SIZE);
	*record = (struct record_code){
		.type = RECORD_CODE,
		.size = (__u32)(CODE_RECORD_HEADER + used),
		.code_addr = a->program->code_addr[function - 'a'],
		.fingerprint = a->program->fingerprint[function - 'a'],
		.pid = (__u32)a->pid,
		.region_cnt = 1,
		.data_size = (__u32)used,
		.has_lines = 1,
		.regions = { { IMAGE_ADDR, (__u32)used, 0 } },
	};
	memcpy(record->data, a->program->image->bytes, used);
	script_put(s, INPUT_RECORD, ms, NULL, 0, record, record->size);
	free(record);
}

/* Frames and native code of a sample. */
struct sampled {
	struct record_sample head;
	struct frame frames[32];
	struct native_frame natives[8]; /* follow directly after the used frames */
};

static struct frame frame_of(const struct actor *a, char letter, size_t below)
{
	if (letter <= '9')
		return (struct frame){ .frame_addr = 0x100 * (__u64)(letter - '0') };
	return (struct frame){
		.code_addr = a->program->code_addr[letter - 'a'],
		.frame_addr = IMAGE_ADDR + 0x80000 + 128 * below,
		.instr_off = 4,
		.fingerprint = a->program->fingerprint[letter - 'a'],
	};
}

static void put_sample(struct script *s, double ms, const struct actor *a, pid_t tid,
		       __u64 start_ns, const char *frames, const struct native_frame natives[],
		       __u64 thread_ptr)
{
	struct sampled record = {
		.head = {
			.type = RECORD_SAMPLE,
			.time_ns = script_ns(ms),
			.thread_start_ns = start_ns,
			.period = PERIOD_NS,
			.tstate_addr = IMAGE_ADDR + 128,
			.interp_addr = IMAGE_INTERP,
			.thread_ptr = thread_ptr,
			.pid = (__u32)a->pid,
			.tid = (__u32)tid,
			.reason = REASON_PYTHON,
			.native_reason = natives ? NATIVE_COMPLETE : NATIVE_NONE,
		},
	};
	size_t cnt = strlen(frames);
	struct native_frame *native = (struct native_frame *)&record.frames[cnt];
	__u16 native_cnt = 0;

	assert_true(cnt <= 32);
	snprintf(record.head.comm, sizeof(record.head.comm), "%s", a->comm);
	for (size_t i = 0; i < cnt; i++) /* leaf first */
		record.frames[i] = frame_of(a, frames[cnt - 1 - i], cnt - i);
	for (; natives && natives[native_cnt].ip; native_cnt++)
		native[native_cnt] = natives[native_cnt];
	record.head.cnt[SECTION_FRAMES] = (__u16)cnt;
	record.head.cnt[SECTION_NATIVE] = native_cnt;
	record.head.size = (__u32)((char *)&native[native_cnt] - (char *)&record);
	s->sample_cnt++;
	script_put(s, INPUT_RECORD, ms, NULL, 0, &record, record.head.size);
}

void script_thread_sample(struct script *s, double ms, const struct actor *a, pid_t tid,
			  __u64 start_ns, const char *frames)
{
	put_sample(s, ms, a, tid, start_ns, frames, NULL, 0);
}

void script_named_sample(struct script *s, double ms, const struct actor *a, pid_t tid,
			 __u64 start_ns, const char *frames)
{
	put_sample(s, ms, a, tid, start_ns, frames, NULL, IMAGE_ADDR + 4096);
}

void script_sample(struct script *s, double ms, const struct actor *a, const char *frames)
{
	put_sample(s, ms, a, a->pid, a->start_ns, frames, NULL, 0);
}

void script_native_sample(struct script *s, double ms, const struct actor *a, const char *frames,
			  const __u64 ips[])
{
	struct native_frame natives[8] = { { 0 } };

	for (int i = 0; ips[i]; i++)
		natives[i].ip = ips[i];
	put_sample(s, ms, a, a->pid, a->start_ns, frames, natives, 0);
}

void script_joined_sample(struct script *s, double ms, const struct actor *a, const char *frames,
			  const struct native_frame natives[])
{
	put_sample(s, ms, a, a->pid, a->start_ns, frames, natives, 0);
}
