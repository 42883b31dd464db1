/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * procs.h - the maps that every program uses: who is followed and at whose expense, the ring
 * buffer, the counters. They are weak: each unit defines them, and bpftool merges them into one.
 *
 * Must hold: only user space and the lifecycle programs, which run in process context, insert into
 * and delete from procs. A sampling program only looks entries up and adds to their counters.
 */
#ifndef KRAIT_BPF_MAP_PROCS_H
#define KRAIT_BPF_MAP_PROCS_H

#include "bpf/abi.h"
#include "bpf/bounds.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KRAIT_MAX_PROCS);
	__type(key, __u32); /* host tgid */
	__type(value, struct proc_info);
} procs SEC(".maps") __weak;

/* Processes that publish where their asyncio tasks are (asyncio_tasks.h). Sized by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32); /* host tgid */
	__type(value, struct task_layout);
} task_layouts SEC(".maps") __weak;

/* Processes that have greenlets (greenlets.h). Sized by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32); /* host tgid */
	__type(value, struct greenlet_place);
} greenlet_places SEC(".maps") __weak;

/* Which uid has which owner, and what each owner uses (share.h). Mapped by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct owner_books);
} owners SEC(".maps") __weak;

/* Sized by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTER_CNT);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps") __weak;

/* Drop samples after this time: -d counts by the samples' clock. User space sets it at the start. */
volatile __u64 end_ns __weak = ~0ULL;

/* Samples and snapshots may fill this much of the ring buffer; the rest is for process events. */
const volatile __u64 sample_bytes_max __weak = 15 << 16;

/*
 * Only threads with these file system ids are sampled, at the moments at which they have them;
 * user_cnt 0: all.
 */
const volatile __u32 users[KRAIT_MAX_USERS] __weak = { 0 };
const volatile __u32 user_cnt __weak = 0;

/*
 * Only threads that are wholly this user's are sampled (task_is_own()), at the moments at which they
 * are; COUNTER_NOT_OWN counts the others. User space sets whose before it attaches anything.
 */
const volatile bool own_only __weak = false;
volatile __u32 own_uid __weak = 0, own_gid __weak = 0;

static __always_inline bool is_wanted_user(__u32 uid)
{
	for (__u32 i = 0; i < KRAIT_MAX_USERS; i++) {
		if (i >= user_cnt)
			break;
		if (users[i] == uid)
			return true;
	}
	return false;
}

/* Atomic, because a program that interrupts another one on this CPU may count too. */
static __always_inline void count_more(__u32 counter, __u64 n)
{
	__u64 *value = bpf_map_lookup_elem(&counters, &counter);

	if (value)
		atomic_add(value, n);
}

static __always_inline void count(__u32 counter)
{
	count_more(counter, 1);
}

/* Add up the run time of the programs: user space wants to know what they cost. */
const volatile bool measure_time __weak = false;

static __always_inline __u64 own_begin(void)
{
	return measure_time ? bpf_ktime_get_ns() : 0;
}

static __always_inline void own_end(__u64 began_ns)
{
	if (began_ns)
		count_more(COUNTER_OWN_NS, bpf_ktime_get_ns() - began_ns);
}

/* The program of that name runs work(ctx, and what follows), and its time counts. */
#define OWN_PROGRAM(name, context, work, ...)                                                      \
	int name(context *ctx)                                                                     \
	{                                                                                          \
		__u64 began_ns = own_begin();                                                      \
                                                                                                   \
		work(ctx, ##__VA_ARGS__);                                                          \
		own_end(began_ns);                                                                 \
		return 0;                                                                          \
	}

#endif /* KRAIT_BPF_MAP_PROCS_H */
