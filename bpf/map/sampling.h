/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sampling.h - maps and knobs of the sampling programs; procs.h and scratch.h have others. User space
 * sets the knobs before loading. They are weak, as in procs.h.
 *
 * Must hold: a sampling program never inserts into or deletes from a hash: no allocation and no
 * bucket lock in an interrupt. It writes only what belongs to this CPU and context or to this
 * thread, and whole words of the table of code objects below, and adds to counters.
 */
#ifndef KRAIT_BPF_MAP_SAMPLING_H
#define KRAIT_BPF_MAP_SAMPLING_H

#include "bpf/abi.h"
#include "bpf/bounds.h"
#include "bpf/python/code_object.h"

/*
 * Written by user space. A variable, not a map's entries: it is there without a look-up, whose result
 * may be nothing, so the verifier has fewer ways to follow.
 */
struct py_offsets layouts[KRAIT_MAX_LAYOUTS] SEC(".data.layouts") __weak = { 0 };

/* index: below KRAIT_MAX_LAYOUTS, as take_python() ensures. */
static __always_inline const struct py_offsets *layout_at(__u32 index)
{
	return &layouts[masked(index, KRAIT_MAX_LAYOUTS - 1)];
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KRAIT_MAX_SLOTS);
	__type(key, __u32); /* host tid */
	__type(value, struct thread_ref);
} threads SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KRAIT_MAX_SLOTS);
	__type(key, __u32);
	__type(value, struct thread_slot);
} slots SEC(".maps") __weak;

/* User space maps these and writes its part of each. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KRAIT_MAX_ANCHORS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct anchor);
} anchors SEC(".maps") __weak;

/* Direct-mapped table of code_object.h: 2 MiB. */
#define CODE_TABLE_SIZE (1 << 17)
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CODE_TABLE_SIZE);
	__type(key, __u32);
	__type(value, struct code_entry);
} codes SEC(".maps") __weak;

/* Indexed by perf event. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KRAIT_MAX_EVENTS);
	__type(key, __u32);
	__type(value, struct event_counts);
} event_counts SEC(".maps") __weak;

/*
 * Groups whose members are read at their leader's samples, perf's {a,b}:S. By leader, a bit for each member. Of
 * each member and CPU: its perf event, at CPU * KRAIT_MAX_EVENTS + member; sized by user space.
 */
const volatile bool has_groups __weak = false;
const volatile __u32 group_members[KRAIT_MAX_EVENTS] __weak = {};
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, KRAIT_MAX_EVENTS);
	__type(key, __u32);
	__type(value, __u32);
} group_events SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KRAIT_MAX_EVENTS);
	__type(key, __u32);
	__type(value, struct member_count);
} member_counts SEC(".maps") __weak;

/* Wake user space when this much is waiting; for less, its own timer fetches the records. */
const volatile __u64 wakeup_bytes __weak = 256 * 1024;

/*
 * Limits the depth of Python stacks, and turns off native ones: an agent gives these up when its
 * budget is spent. User space changes them while the programs run. Without bpf_loop() they do not
 * limit Python stacks.
 */
volatile __u32 frames_max __weak = KRAIT_MAX_FRAMES;
volatile __u32 natives_on __weak = 1;

/* Snapshots of code objects that one sample may send: enough for the new frames of a deep import. */
const volatile __u32 max_definitions __weak = 64;

/* Take native frames of user mode; take frames of the kernel. */
const volatile bool want_native __weak = true, want_kernel __weak = true;

/* Record how the thread stands to the GIL, and whether it handles an exception. */
const volatile bool want_states __weak = false;

/* Read the opcode of each frame. */
const volatile bool want_opcodes __weak = false;

/* Take the tasks that await the thread's running one, and their names. */
const volatile bool want_tasks __weak = true, want_task_names __weak = true;

/*
 * Changed by user space after each entry that it puts into task_layouts; 0: there is none, and
 * samples look up nothing.
 */
volatile __u32 tasks_known __weak = 0;

/*
 * Take the parents of the thread's current greenlet. greenlets_known: set by user space
 * once some process has an entry in greenlet_places.
 */
const volatile bool want_greenlets __weak = true;
volatile __u32 greenlets_known __weak = 0;

/*
 * The kernel has bpf_task_pt_regs() (5.15+), and therefore bpf_get_current_task_btf(), which it
 * needs.
 */
const volatile bool has_task_regs __weak = false;

/*
 * One delta in this many is walked to the root anyway and compared, fewer for deep stacks; 0:
 * never.
 */
const volatile __u32 audit_every __weak = 64;

#endif /* KRAIT_BPF_MAP_SAMPLING_H */
