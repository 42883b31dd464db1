/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slots.h - which thread has which slot of the map slots.
 *
 * User space owns the hash threads, in which the program finds a thread's slot. A slot is bound to the
 * thread's start time, so the next thread of the same id does not inherit it. Whoever keeps a thread
 * keeps the number of its slot, and gives it back when the thread ends; several may.
 *
 * Nobody can take all of them (util/quota.h): a thread without one is searched for at every sample.
 *
 * Must hold: a slot belongs to at most one thread; one that is given back twice is given back once. Several
 * threads of ours may call it at the same time.
 */
#ifndef KRAIT_SAMPLER_SLOTS_H
#define KRAIT_SAMPLER_SLOTS_H

#include <linux/types.h>
#include <sys/types.h>

struct slots;

/* threads_fd: of the hash map threads, borrowed. NULL and errno on failure. */
struct slots *slots__new(int threads_fd);
void slots__free(struct slots *slots);

/*
 * *slot: what this has said of the thread before, or KRAIT_NO_SLOT; afterwards its slot. 0, also when
 * the thread has one already; -ENOSPC when its owner (bpf/share.h) has its share.
 */
int slots__add(struct slots *slots, unsigned owner, pid_t tid, __u64 start_ns, __u32 *slot);
/* How many times a thread of that owner got none. */
__u64 slots__refused(const struct slots *slots, unsigned owner);
/* Ties an anchor to the thread (KRAIT_NO_ANCHOR: none). -ENOENT if the slot is not its own. */
int slots__set_anchor(struct slots *slots, __u32 slot, pid_t tid, __u64 start_ns, __u32 anchor);
/* Gives it back; nothing happens if it is not that thread's any more. */
void slots__remove(struct slots *slots, __u32 slot, pid_t tid, __u64 start_ns);

#endif /* KRAIT_SAMPLER_SLOTS_H */
