/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/task_list.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/probe/probe_list.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/data/hash.h"

/* Awaiters per task. */
#define WAITERS_MAX 4096U
/* Time for a list, whatever its sets and chains look like. */
#define LIST_NS (5 * NS_PER_SEC)

void task_list_begin(struct task_list *l)
{
	l->head.time_ns = clock_monotonic_ns();
}

bool task_list_is_late(struct task_list *l)
{
	if (clock_monotonic_ns() - l->head.time_ns < LIST_NS)
		return false;
	l->head.flags |= PROBE_TASKS_CUT;
	return true;
}

bool task_list_is_full(struct task_list *l)
{
	if (l->head.task_cnt < PROBE_TASKS_MAX)
		return false;
	l->head.flags |= PROBE_TASKS_CUT;
	return true;
}

/* Its place in the hash, or the place where it would be. */
static __u32 place_of(const struct task_list *l, __u64 addr)
{
	__u32 mask = (1U << TASK_LIST_SEEN_BITS) - 1,
	      i = hash_word(addr) >> (32 - TASK_LIST_SEEN_BITS);

	while (l->seen[i] && l->seen[i] != addr)
		i = (i + 1) & mask;
	return i;
}

__u32 task_list_find(const struct task_list *l, __u64 addr)
{
	__u32 place = place_of(l, addr);

	return addr && l->seen[place] ? l->seen_at[place] : PROBE_TASKS_MAX;
}

struct probe_task *task_list_add(struct task_list *l, __u64 addr, __u64 thread_id, __u32 flags)
{
	__u32 place = place_of(l, addr);
	struct probe_task *t;

	if (!addr || l->seen[place] || task_list_is_full(l))
		return NULL;
	l->seen[place] = addr;
	l->seen_at[place] = l->head.task_cnt;
	t = &l->tasks[l->head.task_cnt++];
	*t = (struct probe_task){ .addr = addr,
				  .thread_id = thread_id,
				  .flags = flags,
				  .first_frame = l->head.frame_cnt,
				  .first_waiter = l->head.waiter_cnt };
	return t;
}

void task_list_set_name(struct task_list *l, struct probe_task *t, const char *name)
{
	size_t len = strlen(name) + 1;

	if (len > PROBE_TASKS_TEXT_MAX - l->head.text_len)
		return;
	memcpy(l->texts + l->head.text_len, name, len);
	t->name = l->head.text_len;
	t->flags |= PROBE_TASK_NAMED;
	l->head.text_len += (__u32)len;
}

void task_list_set_frames(struct task_list *l, struct probe_task *t, const struct frame *frames,
			  __u32 cnt)
{
	if (cnt > PROBE_TASKS_FRAMES_MAX - l->head.frame_cnt) {
		l->head.flags |= PROBE_TASKS_CUT;
		return;
	}
	t->first_frame = l->head.frame_cnt;
	t->frame_cnt = cnt;
	if (cnt)
		memcpy(l->frames + l->head.frame_cnt, frames, cnt * sizeof(*frames));
	l->head.frame_cnt += cnt;
}

bool task_list_add_waiter(struct task_list *l, struct probe_task *t, __u64 addr)
{
	if (t->waiter_cnt == WAITERS_MAX || l->head.waiter_cnt == PROBE_TASKS_WAITERS_MAX) {
		l->head.flags |= PROBE_TASKS_CUT;
		return false;
	}
	l->waiters[l->head.waiter_cnt++] = addr;
	t->waiter_cnt++;
	return true;
}

int task_list_write(const struct task_list *l)
{
	cleanup_close int fd = memfd_create("krait-tasks", MFD_CLOEXEC);
	int err = fd < 0 ? -errno : probe_list_write(fd, &l->head, sizeof(l->head));

	if (!err)
		err = probe_list_write(fd, l->tasks, l->head.task_cnt * sizeof(l->tasks[0]));
	if (!err)
		err = probe_list_write(fd, l->frames, l->head.frame_cnt * sizeof(l->frames[0]));
	if (!err)
		err = probe_list_write(fd, l->waiters, l->head.waiter_cnt * sizeof(l->waiters[0]));
	if (!err)
		err = probe_list_write(fd, l->texts, l->head.text_len);
	return err ? err : take_fd(&fd);
}
