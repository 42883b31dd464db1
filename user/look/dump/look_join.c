/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/dump/look_join.h"

#include <errno.h>
#include <string.h>

#include "look/dump/look_thread.h"
#include "profile/dict.h"
#include "record/samples/still.h"
#include "process/probe/probe_threads.h"
#include "base/data/memory.h"

/* Of one thread's C stack. */
struct copy {
	const char *bytes;
	__u64 addr, len;
};

static int read_copy(void *ctx, __u64 addr, void *buf, size_t len)
{
	const struct copy *c = ctx;
	__u64 at = addr - c->addr;

	if (addr < c->addr || at > c->len || len > c->len - at)
		return -EFAULT;
	memcpy(buf, c->bytes + at, len);
	return 0;
}

int look_join(const struct look_join *j, const struct probe_threads *l,
	      const struct probe_thread *os, const struct items **ret)
{
	struct copy copy = { l->stacks + os->stack_at, os->stack_addr, os->stack_len };
	const struct memory copied = { .read = read_copy, .ctx = &copy };
	const struct still_thread t = {
		.regs = os->flags & PROBE_THREAD_REGS ? os->regs : NULL,
		.behind_call = os->flags & PROBE_THREAD_BEHIND_CALL,
		.memory = j->memory ? j->memory : &copied,
		.frames = l->frames + os->first_frame,
		.frame_cnt = os->frame_cnt,
	};

	return still__join(j->process, &t, ret);
}

int look_join_add(const struct look_join *j, struct look_thread *t, const struct item *item)
{
	const struct dict *dict = still__dict(j->process);
	__u32 frame = still__frame(j->process, item);

	return frame ? look_thread_add_profiled(t, dict, frame) : -ENOMEM;
}
