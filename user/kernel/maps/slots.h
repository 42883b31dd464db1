/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slots.h - which thread has which slot of the map slots.
 *
 * User space owns the hash threads, in which the program finds a thread's slot. A slot is bound to
 * the thread's start time, so the next thread with the same tid does not inherit it. Code that
 * keeps a thread keeps the number of its slot, too, and returns it when the thread ends; several
 * may.
 *
 * Nobody can take all slots (base/share/quota.h): for a thread without one, every sample has to search.
 *
 * Must hold: a slot belongs to at most one thread; returning it twice has no further effect.
 * Several of our threads may call at the same time.
 */
#ifndef KRAIT_KERNEL_MAPS_SLOTS_H
#define KRAIT_KERNEL_MAPS_SLOTS_H

#include <linux/types.h>
#include <sys/types.h>

struct slots;

/* threads_fd: of the hash map threads, borrowed. NULL and errno on failure. */
struct slots *slots__new(int threads_fd);
void slots__free(struct slots *slots);

/*
 * *slot: what an earlier call returned for the thread, or KRAIT_NO_SLOT; afterwards its slot.
 * Returns 0, also if the thread has one already; -ENOSPC: its owner (bpf/share.h) has its share.
 */
int slots__add(struct slots *slots, unsigned owner, pid_t tid, __u64 start_ns, __u32 *slot);
/* How often a thread of that owner got none. */
__u64 slots__refused(const struct slots *slots, unsigned owner);
/* Ties an anchor to the thread (KRAIT_NO_ANCHOR: none). -ENOENT: the slot is not its own. */
int slots__set_anchor(struct slots *slots, __u32 slot, pid_t tid, __u64 start_ns, __u32 anchor);
/* Returns the slot; no effect if it no longer belongs to that thread. */
void slots__remove(struct slots *slots, __u32 slot, pid_t tid, __u64 start_ns);

#endif /* KRAIT_KERNEL_MAPS_SLOTS_H */
