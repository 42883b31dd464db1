/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_threads_read.c - krait's side: reads a list of threads from a prober.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/probe/probe_list.h"
#include "process/probe/probe_threads.h"

static bool is_sane(const struct probe_threads *l, __u32 stacks_len)
{
	pid_t last = 0;

	if (!reason_is_known(l->list_reason))
		return false;
	for (__u32 i = 0; i < l->thread_cnt; i++) {
		const struct probe_thread *t = &l->threads[i];

		if (t->tid <= last || !memchr(t->comm, 0, sizeof(t->comm)) ||
		    !reason_is_known(t->reason) || t->first_frame > l->frame_cnt ||
		    t->frame_cnt > l->frame_cnt - t->first_frame ||
		    (t->name && t->name >= l->text_len) || t->stack_at > stacks_len ||
		    t->stack_len > stacks_len - t->stack_at)
			return false;
		last = t->tid;
	}
	if (l->text_len && l->texts[l->text_len - 1])
		return false;
	for (__u32 i = 0, frame = 0; i < l->local_cnt; frame = l->locals[i++].frame)
		if (l->locals[i].frame >= l->frame_cnt || l->locals[i].frame < frame ||
		    l->locals[i].name >= l->text_len || l->locals[i].value >= l->text_len)
			return false;
	return !l->next_tid || l->next_tid > last;
}

int probe_threads_read(int fd, struct probe_threads *ret)
{
	struct probe_threads_head head;
	char *memory;
	size_t size;
	int err = probe_list_read(fd, &head, sizeof(head));

	*ret = (struct probe_threads){ 0 };
	if (err)
		return err;
	if (head.thread_cnt > PROBE_THREADS_MAX || head.frame_cnt > PROBE_THREADS_FRAMES_MAX ||
	    head.local_cnt > PROBE_THREADS_LOCALS_MAX || head.text_len > PROBE_THREADS_TEXT_MAX ||
	    head.interp_cnt > PROBE_THREADS_INTERPS_MAX ||
	    head.stacks_len > PROBE_THREADS_STACKS_MAX)
		return -EPROTO;
	size = sizeof(head) + head.thread_cnt * sizeof(*ret->threads) +
	       head.frame_cnt * sizeof(*ret->frames) + head.interp_cnt * sizeof(*ret->interps) +
	       head.local_cnt * sizeof(*ret->locals) + head.text_len + head.stacks_len;
	ret->memory = memory = malloc(size);
	if (!memory)
		return -ENOMEM;
	ret->threads = (const void *)(memory + sizeof(head));
	ret->frames = (const void *)(ret->threads + head.thread_cnt);
	ret->interps = (const void *)(ret->frames + head.frame_cnt);
	ret->locals = (const void *)(ret->interps + head.interp_cnt);
	ret->texts = (const char *)(ret->locals + head.local_cnt);
	ret->stacks = ret->texts + head.text_len;
	ret->local_cnt = head.local_cnt;
	ret->text_len = head.text_len;
	ret->locals_cut = head.locals_cut;
	ret->thread_cnt = head.thread_cnt;
	ret->frame_cnt = head.frame_cnt;
	ret->next_tid = head.next_tid;
	ret->list_reason = head.list_reason;
	ret->time_ns = head.time_ns;
	ret->interp_cnt = head.interp_cnt;
	ret->pause_ns = head.pause_ns;
	err = probe_list_read(fd, memory, size);
	if (!err && !is_sane(ret, head.stacks_len))
		err = -EPROTO;
	if (err)
		probe_threads_free(ret);
	return err;
}

void probe_threads_free(struct probe_threads *l)
{
	free(l->memory);
	*l = (struct probe_threads){ 0 };
}
