/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slots.h - which thread has which slot of the map slots.
 *
 * User space owns the hash threads; the program finds its slot there. A slot is bound to the
 * thread's start time, so the next thread of the same id does not inherit it.
 *
 * Nobody can take all of them (util/quota.h): a thread without one is searched for at every sample.
 *
 * Must hold: a slot belongs to at most one thread; a thread that ends gives its slot back.
 */
#ifndef KRAIT_SAMPLER_SLOTS_H
#define KRAIT_SAMPLER_SLOTS_H

#include <linux/types.h>
#include <sys/types.h>

struct slots;

/* threads_fd: of the hash map threads, borrowed. NULL and errno on failure. */
struct slots *slots__new(int threads_fd);
void slots__free(struct slots *slots);

/* 0, also when the thread has one already; -ENOSPC when its owner (bpf/share.h) has its share. */
int slots__add(struct slots *slots, unsigned owner, pid_t pid, pid_t tid, __u64 start_ns);
/* How many times a thread of that owner got none. */
__u64 slots__refused(const struct slots *slots, unsigned owner);
/* Ties an anchor to the thread (KRAIT_NO_ANCHOR: none). -ENOENT if it has no slot. */
int slots__set_anchor(struct slots *slots, pid_t tid, __u64 start_ns, __u32 anchor);
void slots__remove(struct slots *slots, pid_t tid, __u64 start_ns);
/* All threads of a process. */
void slots__remove_process(struct slots *slots, pid_t pid);

#endif /* KRAIT_SAMPLER_SLOTS_H */
