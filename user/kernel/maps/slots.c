/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/maps/slots.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "bpf/abi.h"
#include "base/share/quota.h"

/* This fraction of the slots is reserved for root. */
#define ROOT_RESERVE 8

/* The thread that has the slot; start_ns 0: free. */
struct slot {
	__u64 start_ns;
	pid_t tid;
	unsigned owner;
};

struct slots {
	pthread_mutex_t lock;
	int threads_fd;
	struct quota *quota;
	__u32 free_cnt;
	__u32 free[KRAIT_MAX_SLOTS]; /* a stack of free slot numbers */
	struct slot list[KRAIT_MAX_SLOTS];
};

struct slots *slots__new(int threads_fd)
{
	struct slots *slots = calloc(1, sizeof(*slots));

	if (!slots)
		return NULL;
	pthread_mutex_init(&slots->lock, NULL);
	slots->threads_fd = threads_fd;
	slots->quota = quota__new(KRAIT_MAX_SLOTS, KRAIT_MAX_SLOTS / ROOT_RESERVE);
	if (!slots->quota) {
		slots__free(slots);
		return NULL;
	}
	slots->free_cnt = KRAIT_MAX_SLOTS;
	for (__u32 i = 0; i < KRAIT_MAX_SLOTS; i++)
		slots->free[i] = KRAIT_MAX_SLOTS - 1 - i;
	return slots;
}

void slots__free(struct slots *slots)
{
	if (!slots)
		return;
	quota__free(slots->quota);
	pthread_mutex_destroy(&slots->lock);
	free(slots);
}

static bool is_of(const struct slots *slots, __u32 slot, pid_t tid, __u64 start_ns)
{
	return slot < KRAIT_MAX_SLOTS && slots->list[slot].tid == tid &&
	       slots->list[slot].start_ns == start_ns;
}

static void release(struct slots *slots, __u32 slot)
{
	struct slot *s = &slots->list[slot];

	bpf_map_delete_elem(slots->threads_fd, &s->tid);
	quota__give(slots->quota, s->owner, 1);
	*s = (struct slot){ .start_ns = 0 };
	slots->free[slots->free_cnt++] = slot;
}

/* The slot of that thread; frees the slot of an earlier thread with the same tid. */
static __u32 find(struct slots *slots, pid_t tid, __u64 start_ns)
{
	struct thread_ref ref;

	if (bpf_map_lookup_elem(slots->threads_fd, &tid, &ref) || ref.slot >= KRAIT_MAX_SLOTS)
		return KRAIT_NO_SLOT;
	if (is_of(slots, ref.slot, tid, start_ns))
		return ref.slot;
	release(slots, ref.slot);
	return KRAIT_NO_SLOT;
}

static int add(struct slots *slots, unsigned owner, pid_t tid, __u64 start_ns, __u32 *slot)
{
	struct thread_ref ref = { .start_ns = start_ns, .anchor = KRAIT_NO_ANCHOR };
	int err;

	if (is_of(slots, *slot, tid, start_ns))
		return 0;
	*slot = find(slots, tid, start_ns);
	if (*slot != KRAIT_NO_SLOT)
		return 0;
	if (quota__take(slots->quota, owner, 1))
		return -ENOSPC;
	ref.slot = slots->free[slots->free_cnt - 1];
	if (bpf_map_update_elem(slots->threads_fd, &tid, &ref, BPF_ANY)) {
		err = -errno;
		quota__give(slots->quota, owner, 1);
		return err;
	}
	slots->free_cnt--;
	slots->list[ref.slot] = (struct slot){ start_ns, tid, owner };
	*slot = ref.slot;
	return 0;
}

int slots__add(struct slots *slots, unsigned owner, pid_t tid, __u64 start_ns, __u32 *slot)
{
	int err;

	pthread_mutex_lock(&slots->lock);
	err = add(slots, owner, tid, start_ns, slot);
	pthread_mutex_unlock(&slots->lock);
	return err;
}

__u64 slots__refused(const struct slots *slots, unsigned owner)
{
	return quota__refused(slots->quota, owner);
}

int slots__set_anchor(struct slots *slots, __u32 slot, pid_t tid, __u64 start_ns, __u32 anchor)
{
	struct thread_ref ref = { .start_ns = start_ns, .slot = slot, .anchor = anchor };
	int err = -ENOENT;

	pthread_mutex_lock(&slots->lock);
	if (is_of(slots, slot, tid, start_ns))
		err = bpf_map_update_elem(slots->threads_fd, &tid, &ref, BPF_EXIST) ? -errno : 0;
	pthread_mutex_unlock(&slots->lock);
	return err;
}

void slots__remove(struct slots *slots, __u32 slot, pid_t tid, __u64 start_ns)
{
	pthread_mutex_lock(&slots->lock);
	if (is_of(slots, slot, tid, start_ns))
		release(slots, slot);
	pthread_mutex_unlock(&slots->lock);
}
