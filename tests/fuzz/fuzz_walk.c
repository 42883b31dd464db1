/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_walk.c - the search for a thread state and the walk, with the input as memory: it repeats
 * throughout the address space except for the upper half, which is not present.
 */
#include <linux/types.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "bpf/abi.h"
#include "bpf/python/fingerprint.h"
#include "bpf/read.h"
#include "bpf/python/thread.h"
#include "bpf/python/walk.h"

/* Free-threaded, so that a thread's own bytecode is covered, too. */
static const struct py_offsets off = {
	.flags = PYOFF_FREE_THREADED,
	.interp = { .next = 8, .threads_head = 16 },
	.thread = { .prev = 0,
		    .next = 8,
		    .interp = 16,
		    .current_frame = 72,
		    .base_frame = 80,
		    .thread_id = 24,
		    .status = 32 },
	.frame = { .previous = 8, .executable = 0, .instr_ptr = 56, .owner = 78, .tlbc_index = 72 },
	.code = { .filename = 128,
		  .qualname = 144,
		  .linetable = 152,
		  .firstlineno = 84,
		  .code_adaptive = 232,
		  .tlbc = 224 },
};

/* A version whose callers may be in the middle of an instruction when opcodes are read. */
static const struct py_offsets off_312 = {
	.flags = PYOFF_CFRAME,
	.frame = { .previous = 8,
		   .executable = 0,
		   .instr_ptr = 56,
		   .owner = 70,
		   .tlbc_index = PYOFF_ABSENT },
	.code = { .filename = 112,
		  .qualname = 128,
		  .linetable = 136,
		  .firstlineno = 68,
		  .code_adaptive = 192 },
};

static const uint8_t *bytes;
static size_t byte_cnt;
static unsigned reads;

static int read_input(void *ctx, __u64 addr, void *dst, size_t size)
{
	reads++;
	for (size_t i = 0; i < size; i++)
		((__u8 *)dst)[i] = bytes[(addr + i) % byte_cnt];
	return addr >> 63 ? -EFAULT : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(struct walker *w, const struct py_offsets *o, __u64 frame_addr, __u64 base_addr)
{
	static struct frame frames[KRAIT_MAX_FRAMES];

	walk_begin(w, frame_addr, base_addr, 1);
	w->opcodes = 1;
	for (int i = 0; i <= KRAIT_MAX_FRAMES && !walk_step(w, o, frames); i++)
		;
	if (w->reason >= REASON_CNT || w->frame_cnt > KRAIT_MAX_FRAMES)
		abort();
	for (__u32 i = 0; i < w->frame_cnt; i++)
		if (frames[i].instr_off < 0 && frames[i].opcode)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct memory input = { .read = read_input };
	struct thread_search t = { .memory = &input };
	struct walker w = { .memory = &input };

	if (!size)
		return 0;
	bytes = data;
	byte_cnt = size;
	reads = 0;
	t.left = KRAIT_MAX_THREADS;
	if (!thread_search_begin(&t, &off, 0)) {
		for (int i = 0; i < KRAIT_MAX_THREADS && !thread_step(&t, &off); i++)
			;
	}
	if (t.reason >= REASON_CNT || reads > 2 + 2 * KRAIT_MAX_THREADS)
		abort();
	walk(&w, &off, THREAD_FIELD(&t, &off, current_frame), THREAD_FIELD(&t, &off, base_frame));
	walk(&w, &off_312, THREAD_FIELD(&t, &off, current_frame), 0);
	return 0;
}
