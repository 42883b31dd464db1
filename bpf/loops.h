/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * loops.h - the loops of the sampling program, each in two flavours.
 *
 * A step (thread_step(), walk_step() ...) does one turn and says when it is over. bpf_loop() (5.17+)
 * calls it from a callback that is verified once; the bounded for loop runs on older kernels.
 *
 * Must hold: both flavours call the same step, so they find the same.
 */
#ifndef KRAIT_LOOPS_H
#define KRAIT_LOOPS_H

/* The pair that the loop callbacks need; map values, so the verifier follows them. */
struct loop_ctx {
	struct scratch *s;
	const struct py_offsets *off;
};

static long thread_loop(__u32 index, void *data)
{
	struct loop_ctx *c = data;

	return thread_step(&c->s->search, c->off);
}

static long walk_loop(__u32 index, void *data)
{
	struct loop_ctx *c = data;

	return walk_step(&c->s->walker, c->off, c->s->frames);
}

/* The record's words behind the header; frames are the first of them. */
#define FRAME_WORDS (sizeof(struct frame) / sizeof(__u64))
#define BODY_WORDS (FRAME_WORDS * KRAIT_MAX_FRAMES + 2 * KRAIT_MAX_NATIVE + KRAIT_MAX_KERNEL)

/* Keeps the compiler from checking a bound in one register and using another. */
#define keep_bound(var) asm volatile("" : "+r"(var))

/* One native frame, behind the Python frames and the native frames before it. 1 when it is over. */
static __always_inline int native_next(struct scratch *s)
{
	__u64 pos = s->record.frame_cnt * FRAME_WORDS + 2 * s->native.cnt;
	__u64 *words = (__u64 *)s->frames;

	keep_bound(pos);
	if (pos > BODY_WORDS - 2)
		return 1;
	return native_step(&s->native, (struct native_frame *)&words[pos]);
}

static long native_loop(__u32 index, void *data)
{
	struct loop_ctx *c = data;

	return native_next(c->s);
}

static __always_inline __u64 *code_word(void *table, __u64 key)
{
	__u32 index = key & (CODE_TABLE_SIZE - 1);

	return bpf_map_lookup_elem(table, &index);
}

/* Sends the snapshot, if there is room for it. What is left of the budget is 0 when it is used up. */
static __always_inline int send_code(struct scratch *s)
{
	__u64 waiting = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	__u32 size = s->code.data_size, owner = s->record.owner;
	struct owner_books *books = owner_books();
	struct describer *d = &s->describer;

	if (!books || size > CODE_DATA_SIZE)
		return 0;
	size = CODE_RECORD_HEADER + at_most(size, CODE_DATA_SIZE);
	d->bytes = size < d->bytes ? d->bytes - size : 0;
	if (!ring_wants_code(owner_use(books, owner), waiting) ||
	    !ring_allows(books, owner, size, waiting, sample_bytes_max) ||
	    bpf_ringbuf_output(&ring, &s->code, size, BPF_RB_NO_WAKEUP)) {
		__sync_fetch_and_add(&owner_use(books, owner)->codes_dropped, 1);
		count(COUNTER_CODE_DROPPED);
		d->left = 0; /* no more in this sample: they cost reads */
		return 1;
	}
	ring_took(owner_use(books, owner), size);
	count(COUNTER_CODE_SENT);
	return 0;
}

/* Sends a snapshot of the frame's code object, unless that was done before. */
static __always_inline void define_code(struct scratch *s, const struct py_offsets *off,
					const struct frame *f)
{
	struct describer *d = &s->describer;
	__u64 key = describer_key(d, f->code_addr, f->fingerprint | 1ULL << 32);
	__u64 *word = code_word(&described, key);

	if (!word || *word == key)
		return;
	d->left--;
	*word = key;
	if (describe_snapshot(d, off, f, &s->code))
		return;
	s->code.pid = s->record.pid;
	s->code.owner = s->record.owner;
	if (send_code(s))
		*word = 0;
}

/* One frame of the sample: its fingerprint, and a snapshot if it is new. 1 when all are done. */
static __always_inline int describe_step(struct scratch *s, const struct py_offsets *off)
{
	struct describer *d = &s->describer;
	__u32 index = d->index;
	struct frame *f;
	__u64 key, *word;

	if (index >= d->frame_cnt || index >= KRAIT_MAX_FRAMES)
		return 1;
	d->index = index + 1;
	f = &s->frames[masked(index, KRAIT_MAX_FRAMES - 1)];
	if (!f->code_addr)
		return 0;
	if (!f->fingerprint) {
		key = describer_key(d, f->code_addr, d->generation);
		word = code_word(&fingerprints, key);
		if (word)
			f->fingerprint = describe_fingerprint(d, off, f->code_addr, key, word);
	}
	if (f->fingerprint && d->left && d->bytes)
		define_code(s, off, f);
	return 0;
}

static long describe_loop(__u32 index, void *data)
{
	struct loop_ctx *c = data;

	return describe_step(c->s, c->off);
}

/*
 * Without bpf_loop() the verifier walks every iteration. A step as a global function is verified once
 * (5.6+) and costs an iteration a handful of instructions; it takes scalars only.
 */
#define BOUNDED_THREADS 1024

static __always_inline int loop_ctx_of(struct loop_ctx *c, __u32 cpu, __u32 layout)
{
	c->s = bpf_map_lookup_elem(&scratch, &cpu);
	c->off = bpf_map_lookup_elem(&layouts, &layout);
	return c->s && c->off;
}

__noinline int bounded_thread_step(__u32 cpu, __u32 layout)
{
	struct loop_ctx c;

	return loop_ctx_of(&c, cpu, layout) ? thread_step(&c.s->search, c.off) : 1;
}

__noinline int bounded_walk_step(__u32 cpu, __u32 layout)
{
	struct loop_ctx c;

	return loop_ctx_of(&c, cpu, layout) ? walk_step(&c.s->walker, c.off, c.s->frames) : 1;
}

__noinline int bounded_describe_step(__u32 cpu, __u32 layout)
{
	struct loop_ctx c;

	return loop_ctx_of(&c, cpu, layout) ? describe_step(c.s, c.off) : 1;
}

__noinline int bounded_native_step(__u32 cpu)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &cpu);

	return s ? native_next(s) : 1;
}

static __always_inline void search_threads(struct loop_ctx *c, __u32 cpu, __u32 layout,
					   bool has_loop)
{
	if (has_loop) {
		bpf_loop(KRAIT_MAX_THREADS, thread_loop, c, 0);
		return;
	}
	for (int i = 0; i < BOUNDED_THREADS; i++) {
		if (bounded_thread_step(cpu, layout))
			return;
	}
}

static __always_inline int search_thread(__u32 cpu, __u32 layout, __u32 index, bool has_loop)
{
	struct thread_slot *slot = bpf_map_lookup_elem(&slots, &index);
	struct thread_search *t;
	struct proc_info *proc;
	struct loop_ctx c;
	__u64 now_ns;
	__u32 pid;

	if (!loop_ctx_of(&c, cpu, layout))
		return REASON_NO_LAYOUT;
	t = &c.s->search;
	now_ns = c.s->record.time_ns;
	pid = c.s->record.pid;
	proc = bpf_map_lookup_elem(&procs, &pid);
	if (!proc)
		return REASON_NO_LAYOUT;
	if (slot && thread_still_native(t, c.off, slot))
		return REASON_NATIVE_THREAD;
	thread_search_allow(t, proc, now_ns);
	for (int attempt = 0; attempt < 2; attempt++) {
		if (!thread_search_resume(t, c.off, attempt ? NULL : slot))
			search_threads(&c, cpu, layout, has_loop);
		if (!thread_search_again(t))
			break;
	}
	thread_search_pay(t, proc, now_ns);
	count_more(COUNTER_THREAD_STEPS, t->steps);
	thread_search_settle(t, c.off, slot);
	return t->reason;
}

/*
 * The search of the lists for a thread whose state is not remembered: global functions, which are
 * verified apart from what comes behind. index: of the thread's slot, KRAIT_NO_SLOT none.
 */
__noinline int search_thread_loop(__u32 cpu, __u32 layout, __u32 index)
{
	return search_thread(cpu, layout, index, true);
}

__noinline int search_thread_bounded(__u32 cpu, __u32 layout, __u32 index)
{
	return search_thread(cpu, layout, index, false);
}

static __always_inline void walk_frames(struct loop_ctx *c, __u32 layout, bool has_loop)
{
	__u32 cpu = c->s->record.cpu;

	c->s->walker.reason = REASON_DEPTH;
	if (has_loop) {
		bpf_loop(KRAIT_MAX_FRAMES + 1, walk_loop, c, 0);
		return;
	}
	for (int i = 0; i <= KRAIT_MAX_FRAMES; i++) {
		if (bounded_walk_step(cpu, layout))
			return;
	}
}

/* After the walk, so that the frames above an anchor are all there is to describe. */
static __always_inline void describe_frames(struct loop_ctx *c, struct proc_info *proc,
					    bool has_loop)
{
	struct describer *d = &c->s->describer;
	struct record_sample *record = &c->s->record;
	__u32 cpu = record->cpu;

	describe_begin(d, (__u64)record->pid << 32 ^ proc->start_ns, record->code_generation,
		       record->frame_cnt, max_definitions);
	d->bytes = describe_budget(proc, record->time_ns);
	proc->code_ns = record->time_ns;
	if (has_loop) {
		bpf_loop(KRAIT_MAX_FRAMES, describe_loop, c, 0);
	} else {
		for (int i = 0; i < KRAIT_MAX_FRAMES; i++) {
			if (bounded_describe_step(cpu, proc->layout))
				break;
		}
	}
	proc->code_bytes = d->bytes;
}

#endif /* KRAIT_LOOPS_H */
