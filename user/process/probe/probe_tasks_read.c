/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_tasks_read.c - krait's side: reads a list of asyncio tasks from a prober.
 */
#include <errno.h>
#include <stdlib.h>

#include "process/probe/probe_list.h"
#include "process/probe/probe_tasks.h"

static bool part_is_in(__u32 first, __u32 cnt, __u32 all)
{
	return first <= all && cnt <= all - first;
}

static bool is_sane(const struct probe_tasks *l)
{
	if (l->head.text_len && l->texts[l->head.text_len - 1])
		return false;
	for (__u32 i = 0; i < l->head.task_cnt; i++) {
		const struct probe_task *t = &l->tasks[i];

		if (!part_is_in(t->first_frame, t->frame_cnt, l->head.frame_cnt) ||
		    !part_is_in(t->first_waiter, t->waiter_cnt, l->head.waiter_cnt) ||
		    (t->flags & PROBE_TASK_NAMED && t->name >= l->head.text_len))
			return false;
	}
	return reason_is_known(l->head.list_reason);
}

int probe_tasks_read(int fd, struct probe_tasks *ret)
{
	struct probe_tasks_head head;
	char *memory;
	size_t size;
	int err = probe_list_read(fd, &head, sizeof(head));

	*ret = (struct probe_tasks){ .memory = NULL };
	if (err)
		return err;
	if (head.task_cnt > PROBE_TASKS_MAX || head.frame_cnt > PROBE_TASKS_FRAMES_MAX ||
	    head.waiter_cnt > PROBE_TASKS_WAITERS_MAX || head.text_len > PROBE_TASKS_TEXT_MAX)
		return -EPROTO;
	size = sizeof(head) + head.task_cnt * sizeof(*ret->tasks) +
	       head.frame_cnt * sizeof(*ret->frames) + head.waiter_cnt * sizeof(*ret->waiters) +
	       head.text_len;
	ret->memory = memory = malloc(size);
	if (!memory)
		return -ENOMEM;
	ret->head = head;
	ret->tasks = (const void *)(memory + sizeof(head));
	ret->frames = (const void *)(ret->tasks + head.task_cnt);
	ret->waiters = (const void *)(ret->frames + head.frame_cnt);
	ret->texts = (const char *)(ret->waiters + head.waiter_cnt);
	err = probe_list_read(fd, memory, size);
	if (!err && !is_sane(ret))
		err = -EPROTO;
	if (err)
		probe_tasks_free(ret);
	return err;
}

void probe_tasks_free(struct probe_tasks *l)
{
	free(l->memory);
	*l = (struct probe_tasks){ .memory = NULL };
}
