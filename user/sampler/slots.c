/* SPDX-License-Identifier: BSD-2-Clause */
#include "sampler/slots.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

#include "abi.h"

struct slot_owner {
	pid_t tid;
	pid_t pid;
	__u64 start_ns;
	__u32 slot;
	UT_hash_handle hh;
};

struct slots {
	int threads_fd;
	struct slot_owner *by_tid;
	__u32 free_cnt;
	__u32 free[KRAIT_MAX_SLOTS]; /* a stack; slot numbers never given out or given back */
};

struct slots *slots__new(int threads_fd)
{
	struct slots *slots = calloc(1, sizeof(*slots));

	if (!slots)
		return NULL;
	slots->threads_fd = threads_fd;
	slots->free_cnt = KRAIT_MAX_SLOTS;
	for (__u32 i = 0; i < KRAIT_MAX_SLOTS; i++)
		slots->free[i] = KRAIT_MAX_SLOTS - 1 - i;
	return slots;
}

static void slot_release(struct slots *slots, struct slot_owner *owner)
{
	bpf_map_delete_elem(slots->threads_fd, &owner->tid);
	slots->free[slots->free_cnt++] = owner->slot;
	HASH_DEL(slots->by_tid, owner);
	free(owner);
}

void slots__free(struct slots *slots)
{
	struct slot_owner *owner, *next;

	if (!slots)
		return;
	HASH_ITER(hh, slots->by_tid, owner, next) {
		HASH_DEL(slots->by_tid, owner);
		free(owner);
	}
	free(slots);
}

int slots__add(struct slots *slots, pid_t pid, pid_t tid, __u64 start_ns)
{
	struct thread_ref ref = { .start_ns = start_ns, .anchor = KRAIT_NO_ANCHOR };
	struct slot_owner *owner;

	HASH_FIND_INT(slots->by_tid, &tid, owner);
	if (owner && owner->start_ns == start_ns)
		return 0;
	if (owner)
		slot_release(slots, owner);
	if (!slots->free_cnt)
		return -ENOSPC;
	owner = calloc(1, sizeof(*owner));
	if (!owner)
		return -ENOMEM;
	owner->tid = tid;
	owner->pid = pid;
	owner->start_ns = start_ns;
	owner->slot = ref.slot = slots->free[slots->free_cnt - 1];
	if (bpf_map_update_elem(slots->threads_fd, &tid, &ref, BPF_ANY)) {
		free(owner);
		return -errno;
	}
	slots->free_cnt--;
	HASH_ADD_INT(slots->by_tid, tid, owner);
	return 0;
}

int slots__set_anchor(struct slots *slots, pid_t tid, __u64 start_ns, __u32 anchor)
{
	struct thread_ref ref = { .start_ns = start_ns, .anchor = anchor };
	struct slot_owner *owner;

	HASH_FIND_INT(slots->by_tid, &tid, owner);
	if (!owner || owner->start_ns != start_ns)
		return -ENOENT;
	ref.slot = owner->slot;
	return bpf_map_update_elem(slots->threads_fd, &tid, &ref, BPF_EXIST) ? -errno : 0;
}

void slots__remove(struct slots *slots, pid_t tid, __u64 start_ns)
{
	struct slot_owner *owner;

	HASH_FIND_INT(slots->by_tid, &tid, owner);
	if (owner && owner->start_ns == start_ns)
		slot_release(slots, owner);
}

void slots__remove_process(struct slots *slots, pid_t pid)
{
	struct slot_owner *owner, *next;

	HASH_ITER(hh, slots->by_tid, owner, next) {
		if (owner->pid == pid)
			slot_release(slots, owner);
	}
}
