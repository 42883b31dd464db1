/* SPDX-License-Identifier: BSD-2-Clause */
#include "sampler/slots.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

#include "abi.h"
#include "util/quota.h"

/* One slot in so many is root's. */
#define ROOT_RESERVE 8

struct slot_thread {
	pid_t tid;
	pid_t pid;
	__u64 start_ns;
	__u32 slot;
	unsigned owner;
	UT_hash_handle hh;
};

struct slots {
	int threads_fd;
	struct quota *quota;
	struct slot_thread *by_tid;
	__u32 free_cnt;
	__u32 free[KRAIT_MAX_SLOTS]; /* a stack; slot numbers never given out or given back */
};

struct slots *slots__new(int threads_fd)
{
	struct slots *slots = calloc(1, sizeof(*slots));

	if (!slots)
		return NULL;
	slots->threads_fd = threads_fd;
	slots->quota = quota__new(KRAIT_MAX_SLOTS, KRAIT_MAX_SLOTS / ROOT_RESERVE);
	if (!slots->quota) {
		free(slots);
		return NULL;
	}
	slots->free_cnt = KRAIT_MAX_SLOTS;
	for (__u32 i = 0; i < KRAIT_MAX_SLOTS; i++)
		slots->free[i] = KRAIT_MAX_SLOTS - 1 - i;
	return slots;
}

static void slot_release(struct slots *slots, struct slot_thread *thread)
{
	bpf_map_delete_elem(slots->threads_fd, &thread->tid);
	slots->free[slots->free_cnt++] = thread->slot;
	quota__give(slots->quota, thread->owner, 1);
	HASH_DEL(slots->by_tid, thread);
	free(thread);
}

void slots__free(struct slots *slots)
{
	struct slot_thread *thread, *next;

	if (!slots)
		return;
	HASH_ITER(hh, slots->by_tid, thread, next) {
		HASH_DEL(slots->by_tid, thread);
		free(thread);
	}
	quota__free(slots->quota);
	free(slots);
}

/* The thread has what it needs from here on, or gives all of it back. */
static int enter(struct slots *slots, struct slot_thread *thread)
{
	struct thread_ref ref = { .start_ns = thread->start_ns, .anchor = KRAIT_NO_ANCHOR };

	thread->slot = ref.slot = slots->free[slots->free_cnt - 1];
	if (bpf_map_update_elem(slots->threads_fd, &thread->tid, &ref, BPF_ANY))
		return -errno;
	slots->free_cnt--;
	HASH_ADD_INT(slots->by_tid, tid, thread);
	return 0;
}

int slots__add(struct slots *slots, unsigned owner, pid_t pid, pid_t tid, __u64 start_ns)
{
	struct slot_thread *thread;
	int err;

	HASH_FIND_INT(slots->by_tid, &tid, thread);
	if (thread && thread->start_ns == start_ns)
		return 0;
	if (thread)
		slot_release(slots, thread);
	if (quota__take(slots->quota, owner, 1))
		return -ENOSPC;
	thread = calloc(1, sizeof(*thread));
	if (thread)
		*thread = (struct slot_thread){
			.tid = tid, .pid = pid, .start_ns = start_ns, .owner = owner
		};
	err = thread ? enter(slots, thread) : -ENOMEM;
	if (err) {
		quota__give(slots->quota, owner, 1);
		free(thread);
	}
	return err;
}

__u64 slots__refused(const struct slots *slots, unsigned owner)
{
	return quota__refused(slots->quota, owner);
}

int slots__set_anchor(struct slots *slots, pid_t tid, __u64 start_ns, __u32 anchor)
{
	struct thread_ref ref = { .start_ns = start_ns, .anchor = anchor };
	struct slot_thread *thread;

	HASH_FIND_INT(slots->by_tid, &tid, thread);
	if (!thread || thread->start_ns != start_ns)
		return -ENOENT;
	ref.slot = thread->slot;
	return bpf_map_update_elem(slots->threads_fd, &tid, &ref, BPF_EXIST) ? -errno : 0;
}

void slots__remove(struct slots *slots, pid_t tid, __u64 start_ns)
{
	struct slot_thread *thread;

	HASH_FIND_INT(slots->by_tid, &tid, thread);
	if (thread && thread->start_ns == start_ns)
		slot_release(slots, thread);
}

void slots__remove_process(struct slots *slots, pid_t pid)
{
	struct slot_thread *thread, *next;

	HASH_ITER(hh, slots->by_tid, thread, next) {
		if (thread->pid == pid)
			slot_release(slots, thread);
	}
}
