/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * maps.h - all maps, the knobs that user space sets before loading, and the counters. Weak: every
 * unit includes them, and bpftool joins them into one.
 *
 * Must hold: the sampling program never inserts into or deletes from a hash (no allocation and no
 * bucket lock in an interrupt, bpf.md section 5); it writes only values that belong to this CPU or
 * this thread, and adds to counters. Process event programs run in process context; they alone, and
 * user space, change procs.
 */
#ifndef KRAIT_MAPS_H
#define KRAIT_MAPS_H

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KRAIT_MAX_PROCS);
	__type(key, __u32); /* host tgid */
	__type(value, struct proc_info);
} procs SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KRAIT_MAX_BINARIES);
	__type(key, struct binary_key);
	__type(value, struct binary_info);
} binaries SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KRAIT_MAX_ENTRIES);
	__type(key, __u32); /* attach cookie of the probe on the function */
	__type(value, struct binary_info);
} entries SEC(".maps") __weak;

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

/* Which uid is which owner, and what each takes up: share.h. Mapped by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct owner_books);
} owners SEC(".maps") __weak;

/* Direct-mapped tables of codedef.h: 1 MiB each. */
#define CODE_TABLE_SIZE (1 << 17)
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CODE_TABLE_SIZE);
	__type(key, __u32);
	__type(value, __u64);
} fingerprints SEC(".maps") __weak, described SEC(".maps") __weak;

/* What one interrupt needs beyond the 512 bytes of BPF stack. */
struct scratch {
	struct thread_search search;
	struct walker walker;
	struct anchor_plan plan;
	struct describer describer;
	struct record_code code;
	struct native_walk native;
	__u64 regs[TASK_REGS_WORDS]; /* of the thread in user mode */
	struct record_sample record;
	struct frame frames[KRAIT_MAX_FRAMES]; /* right behind record: they leave as one record */
	/* Room behind the frames: what is native follows them wherever they end. */
	__u64 room[2 * KRAIT_MAX_NATIVE + KRAIT_MAX_KERNEL];
};

/*
 * One for each possible CPU, by number; sized by user space. Not a per-CPU map: the kernel refuses
 * those with values over 32 KiB (PCPU_MIN_UNIT_SIZE). Perf event programs do not nest on a CPU.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTER_CNT);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KRAIT_MAX_EVENTS);
	__type(key, __u32);
	__type(value, struct event_counts);
} event_counts SEC(".maps") __weak;

/* What the timers of this CPU have done, by perf event: tick.h. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KRAIT_MAX_EVENTS);
	__type(key, __u32);
	__type(value, struct tick);
} ticks SEC(".maps") __weak;

/* Sized by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps") __weak;

/* Wake user space when this much is waiting; below that its own timer fetches the records. */
const volatile __u64 wakeup_bytes __weak = 256 * 1024;

/* Interrupts after that are not taken: -d is by the clock of the samples. User space sets it at the start. */
volatile __u64 end_ns __weak = ~0ULL;

/* The size of the ring buffer; samples and snapshots leave the rest of it to process events. */
const volatile __u64 ring_bytes_max __weak = 1 << 20, sample_bytes_max __weak = 15 << 16;

/* Snapshots of code objects that one sample may send: as many as a deep import has new frames. */
const volatile __u32 max_definitions __weak = 64;

/* Every process is followed, not only those in procs and their descendants. */
const volatile bool follow_all __weak = false;

/* Native frames of user mode, and frames of the kernel, are taken too. */
const volatile bool want_native __weak = true, want_kernel __weak = true;

/* There is more than one perf event, and each carries its index (task.h). */
const volatile bool several_events __weak = false;

/* A bit for each perf event that is a clock whose every tick comes here. */
const volatile __u32 clock_events __weak = 0;

/* The kernel has bpf_task_pt_regs() (5.15+). */
const volatile bool has_task_regs __weak = false;

/* One delta in so many is walked to its end all the same and compared, of deep stacks fewer; 0 never. */
const volatile __u32 audit_every __weak = 64;

static __always_inline void count_more(__u32 counter, __u64 n)
{
	__u64 *value = bpf_map_lookup_elem(&counters, &counter);

	if (value)
		*value += n;
}

static __always_inline void count(__u32 counter)
{
	count_more(counter, 1);
}

#endif /* KRAIT_MAPS_H */
