/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * maps.h - the maps and knobs of the sampling programs, beside those of procs.h and scratch.h. User space
 * sets the knobs before loading. Weak, as in procs.h.
 *
 * Must hold: a sampling program never inserts into or deletes from a hash: no allocation and no lock of a
 * bucket in an interrupt. It writes only what belongs to this CPU and context or to this thread, whole words
 * of the two tables below, and adds to counters.
 */
#ifndef KRAIT_MAPS_H
#define KRAIT_MAPS_H

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KRAIT_MAX_LAYOUTS);
	__type(key, __u32);
	__type(value, struct py_offsets);
} layouts SEC(".maps") __weak;

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

/* Mapped by user space, which writes its part of each. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KRAIT_MAX_ANCHORS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct anchor);
} anchors SEC(".maps") __weak;

/* Direct-mapped tables of codedef.h: 1 MiB each. */
#define CODE_TABLE_SIZE (1 << 17)
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CODE_TABLE_SIZE);
	__type(key, __u32);
	__type(value, __u64);
} fingerprints SEC(".maps") __weak, described SEC(".maps") __weak;

/* By perf event. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KRAIT_MAX_EVENTS);
	__type(key, __u32);
	__type(value, struct event_counts);
} event_counts SEC(".maps") __weak;

/* Wake user space when this much is waiting; below that its own timer fetches the records. */
const volatile __u64 wakeup_bytes __weak = 256 * 1024;

/* Samples after this time are dropped: -d goes by the samples' clock. User space sets it at the start. */
volatile __u64 end_ns __weak = ~0ULL;

/*
 * Stacks of Python end after so many frames, and native ones are left out: what an agent does without when its budget is
 * used up. User space changes them while the programs run. Without bpf_loop() stacks are as deep as ever.
 */
volatile __u32 frames_max __weak = KRAIT_MAX_FRAMES;
volatile __u32 natives_on __weak = 1;

/* Snapshots of code objects that one sample may send: as many as a deep import has new frames. */
const volatile __u32 max_definitions __weak = 64;

/* Native frames of user mode, and frames of the kernel, are taken too. */
const volatile bool want_native __weak = true, want_kernel __weak = true;

/* What a thread does with the GIL is read, too. */
const volatile bool want_states __weak = false;

/* The opcode of each frame is read, too. */
const volatile bool want_opcodes __weak = false;

/* The tasks that await the one that a thread runs are taken, too. */
const volatile bool want_tasks __weak = true, want_task_names __weak = true;

/* Set by user space once some process has an entry in task_layouts; until then samples do not look for one. */
volatile __u32 tasks_known __weak = 0;

/* The parents of the greenlet that a thread runs are taken, too; some process has had an entry in greenlet_places. */
const volatile bool want_greenlets __weak = true;
volatile __u32 greenlets_known __weak = 0;

/* The kernel has bpf_task_pt_regs() (5.15+), and so what it takes: bpf_get_current_task_btf(). */
const volatile bool has_task_regs __weak = false;

/* One delta in this many is walked to the root anyway and compared, fewer for deep stacks; 0: none. */
const volatile __u32 audit_every __weak = 64;

#endif /* KRAIT_MAPS_H */
