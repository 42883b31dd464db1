/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clock.h - tells user space how long a thread has run so far by the kernel's own account, so that
 * CPU time that no tick found does not go unnoticed (user/record/samples/thread_clock.h).
 *
 * The kernel brings the account of a running thread up to date at each of its own ticks, so it may
 * be up to one of these behind (1 to 10 ms). The account of a thread off the CPU is exact.
 */
#ifndef KRAIT_BPF_WAIT_CLOCK_H
#define KRAIT_BPF_WAIT_CLOCK_H

#include "bpf/abi.h"
#include "bpf/map/procs.h"
#include "bpf/map/room.h"
#include "bpf/share.h"
#include "bpf/kernel_task.h"

/* CLOCK_MONOTONIC: since when all clocks tick on all CPUs. User space sets it at the start. */
volatile __u64 clocks_from_ns __weak = ~0ULL;

/* Nobody compares clocks if no event's ticks all become samples. */
const volatile bool want_clocks __weak = false;

/* Must not wake user space: nothing depends on when it reads this. No room: then nothing is known. */
static __always_inline void put_clock(struct record_clock *record)
{
	__u64 waiting = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	struct owner_books *books = owner_books();

	if (books &&
	    ring_allows(books, record->owner, sizeof(*record), waiting, sample_bytes_max) &&
	    !bpf_ringbuf_output(&ring, record, sizeof(*record), BPF_RB_NO_WAKEUP))
		ring_took(owner_use(books, record->owner), sizeof(*record));
}

/* A thread of the process, which is in procs. flags: of enum clock_flag, as far as the caller knows. */
static __always_inline void send_clock(struct task_struct *task, const struct proc_info *proc,
				       __u32 flags)
{
	__u64 now_ns = bpf_ktime_get_ns(), born_ns = BPF_CORE_READ(task, start_time);
	struct record_clock record = {
		.type = RECORD_CLOCK,
		.owner = proc->owner,
		.size = sizeof(record),
		.time_ns = now_ns,
		.late_ns = now_ns > end_ns ? now_ns - end_ns : 0,
		.thread_start_ns = task_start_ns(task),
		.start_ns = proc->start_ns,
		.cpu_ns = BPF_CORE_READ(task, se.sum_exec_runtime),
		.switches = BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw),
		.dropped = proc->dropped,
		.pid = BPF_CORE_READ(task, tgid),
		.tid = BPF_CORE_READ(task, pid),
		.flags = flags,
	};

	/* Ticks of some users' threads only say nothing about the others. */
	if (!want_clocks || user_cnt || own_only || !(proc->flags & PROC_PYTHON) ||
	    now_ns < clocks_from_ns)
		return;
	if (born_ns >= clocks_from_ns && born_ns >= proc->sampled_ns)
		record.flags |= CLOCK_WHOLE;
	BPF_CORE_READ_STR_INTO(&record.comm, task, comm);
	put_clock(&record);
}

#endif /* KRAIT_BPF_WAIT_CLOCK_H */
