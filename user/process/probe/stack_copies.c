/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/stack_copies.h"

#include <string.h>

#include "process/memory/frozen.h"
#include "process/memory/remote.h"

/* Bytes of a stack to read at once; a shorter rest is read by the page. */
#define CHUNK (16U << 10)
#define PAGE 4096U

/* The stack pointer; 0 unknown. */
static __u64 take_regs(struct probe_thread *t, const struct frozen_thread *f)
{
	if (!f->has_regs)
		return 0;
	memcpy(t->regs, f->regs, sizeof(t->regs));
	t->flags |= PROBE_THREAD_REGS;
	if (REGS_SYSCALL(f->regs) >= 0)
		t->flags |= PROBE_THREAD_BEHIND_CALL;
	return f->regs[UNWIND_WORD_SP];
}

/* Copies from there on, as much of len bytes as can be read. */
static __u32 copy(struct bytes *copies, int mem, __u64 addr, __u32 len, __u32 step)
{
	char part[CHUNK];
	__u32 done = 0;

	while (done < len && !remote_read_fd(mem, addr + done, part, step)) {
		bytes_put(copies, part, step);
		done += step;
	}
	return copies->failed ? 0 : done;
}

void stack_copies_take(struct bytes *copies, int mem, const struct frozen_thread *f,
		       struct probe_thread *t)
{
	__u64 addr = take_regs(t, f) & ~(__u64)(PAGE - 1);
	__u32 left = STACK_COPIES_MAX - (__u32)copies->len, len;

	if (!addr || copies->failed)
		return;
	left = (left < STACK_COPY_MAX ? left : STACK_COPY_MAX) / CHUNK * CHUNK;
	t->stack_addr = addr;
	t->stack_at = (__u32)copies->len;
	len = copy(copies, mem, addr, left, CHUNK);
	if (len < left)
		len += copy(copies, mem, addr + len, CHUNK, PAGE);
	t->stack_len = copies->failed ? 0 : len;
}
