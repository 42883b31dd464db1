/* SPDX-License-Identifier: BSD-2-Clause */
#include "sampler/anchors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "util/quota.h"

struct anchors {
	struct anchor *map; /* shared with the kernel */
	__u64 last_epoch;
	struct quota *quota;
	int free_cnt;
	int free[KRAIT_MAX_ANCHORS];
	unsigned owners[KRAIT_MAX_ANCHORS]; /* of those that are taken */
};

/* One anchor in so many is root's. */
#define ROOT_RESERVE 8

#define MAP_BYTES (KRAIT_MAX_ANCHORS * sizeof(struct anchor))

struct anchors *anchors__new(int fd)
{
	struct anchors *a = calloc(1, sizeof(*a));
	void *map;

	if (!a)
		return NULL;
	map = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		free(a);
		return NULL;
	}
	a->map = map;
	a->quota = quota__new(KRAIT_MAX_ANCHORS, KRAIT_MAX_ANCHORS / ROOT_RESERVE);
	if (!a->quota) {
		anchors__free(a);
		return NULL;
	}
	for (int i = 0; i < KRAIT_MAX_ANCHORS; i++)
		a->free[a->free_cnt++] = KRAIT_MAX_ANCHORS - 1 - i;
	return a;
}

void anchors__free(struct anchors *a)
{
	if (!a)
		return;
	munmap(a->map, MAP_BYTES);
	quota__free(a->quota);
	free(a);
}

int anchors__take(struct anchors *a, unsigned owner)
{
	int index;

	if (quota__take(a->quota, owner, 1))
		return -ENOSPC;
	index = a->free[--a->free_cnt];
	a->owners[index] = owner;
	return index;
}

static void set_epoch(struct anchor *anchor, __u64 epoch)
{
	__atomic_store_n(&anchor->epoch, epoch, __ATOMIC_SEQ_CST);
}

void anchors__stop(struct anchors *a, int index)
{
	set_epoch(&a->map[index], 0);
}

void anchors__give_back(struct anchors *a, int index)
{
	set_epoch(&a->map[index], 0);
	quota__give(a->quota, a->owners[index], 1);
	a->free[a->free_cnt++] = index;
}

static int transfer(const struct anchor_target *t, __u64 addr, void *buf, size_t size, bool write)
{
	struct iovec local = { buf, size }, remote = { (void *)(unsigned long)addr, size };
	ssize_t n = write ? process_vm_writev(t->pid, &local, 1, &remote, 1, 0) :
			    process_vm_readv(t->pid, &local, 1, &remote, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EFAULT;
}

static __u64 field(const __u8 *window, __s32 offset)
{
	__u64 value;

	memcpy(&value, window + offset, sizeof(value));
	return value;
}

/* Reads the thread state; -ESTALE when it is not the one that was sampled. */
static int read_thread(const struct anchor_target *t, __u64 *ret_lpf_addr, __u64 *ret_seq)
{
	const struct py_offsets *off = t->offsets;
	__u8 window[KRAIT_THREAD_WINDOW];
	int err = transfer(t, t->tstate_addr, window, sizeof(window), false);

	if (err)
		return err;
	if (field(window, off->thread.thread_id) != t->thread_ptr ||
	    field(window, off->thread.interp) != t->interp_addr)
		return -ESTALE;
	*ret_lpf_addr = field(window, off->thread.last_profiled_frame);
	*ret_seq = field(window, off->thread.last_profiled_frame_seq);
	return 0;
}

int anchors__read(const struct anchor_target *target, __u64 *ret_lpf_addr)
{
	__u64 seq;

	return read_thread(target, ret_lpf_addr, &seq);
}

int anchors__write(struct anchors *a, int index, const struct anchor_target *target,
		   const __u64 *addrs, __u32 cnt, bool foreign_ok)
{
	struct anchor *anchor = &a->map[index];
	__u64 lpf_addr, seq, lpf_field_addr, frame_addr = cnt ? addrs[0] : 0;
	int err;

	set_epoch(anchor, 0);
	err = read_thread(target, &lpf_addr, &seq);
	if (err)
		return err;
	if (!foreign_ok && lpf_addr)
		return -EBUSY;
	anchor->tstate_addr = target->tstate_addr;
	anchor->seq = seq;
	anchor->addr_cnt = cnt < KRAIT_ANCHOR_FRAMES ? cnt : KRAIT_ANCHOR_FRAMES;
	if (cnt)
		memcpy(anchor->addrs, addrs, anchor->addr_cnt * sizeof(*addrs));
	lpf_field_addr = target->tstate_addr + target->offsets->thread.last_profiled_frame;
	err = transfer(target, lpf_field_addr, &frame_addr, sizeof(frame_addr), true);
	if (!err && cnt)
		set_epoch(anchor, ++a->last_epoch);
	return err;
}
