/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * describe.h - sends a snapshot of each code object that a sample is the first to show (codedef.h).
 *
 * Must hold: a snapshot goes into the ring before the sample that needs it. One exception: if a
 * sample interrupts another one and both meet the same new object, the inner sample leaves before
 * the outer one's snapshot; then user space reads the object itself.
 */
#ifndef KRAIT_DESCRIBE_H
#define KRAIT_DESCRIBE_H

static __always_inline struct code_entry *code_entry(__u64 place)
{
	__u32 index = place & (CODE_TABLE_SIZE - 1);

	return bpf_map_lookup_elem(&codes, &index);
}

/* Sends the snapshot if there is room. The remaining budget never goes below 0. */
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
	if (!ring_wants_code(owner_use(books, owner), waiting, sample_bytes_max) ||
	    !ring_allows(books, owner, size, waiting, sample_bytes_max) ||
	    bpf_ringbuf_output(&ring, &s->code, size, BPF_RB_NO_WAKEUP)) {
		atomic_add(&owner_use(books, owner)->codes_dropped, 1);
		count(COUNTER_CODE_DROPPED);
		d->left = 0; /* no more in this sample: each attempt costs reads */
		return 1;
	}
	ring_took(owner_use(books, owner), size);
	count(COUNTER_CODE_SENT);
	return 0;
}

/* Sends a snapshot of the frame's code object. Returns 0, or 1 if it must be tried again. */
static __always_inline int define_code(struct scratch *s, const struct py_offsets *off,
				       const struct frame *f)
{
	s->describer.left--;
	if (describe_snapshot(&s->describer, off, f, &s->code))
		return 0;
	s->code.pid = s->record.pid;
	s->code.owner = s->record.owner;
	return send_code(s);
}

/* Takes the fingerprint of a frame's code object, and sends a snapshot if the object is new. */
static __always_inline void describe_frame(struct scratch *s, const struct py_offsets *off,
					   struct frame *f)
{
	struct describer *d = &s->describer;
	struct code_entry *e;
	__u64 place, key;

	if (!f->code_addr || task_part_is_name(f))
		return;
	place = describer_place(d, f->code_addr);
	e = code_entry(place);
	if (!e)
		return;
	if (!f->fingerprint)
		f->fingerprint = describe_fingerprint(
			d, off, f->code_addr, code_key(place, d->generation), &e->fingerprint);
	key = code_key(place, f->fingerprint | 1ULL << 32);
	if (e->described == key || !f->fingerprint || !d->left || !d->bytes)
		return;
	e->described = key;
	if (define_code(s, off, f))
		e->described = 0;
}

/* Handles one frame of the sample. Returns 1 when all are done. */
static __always_inline int describe_step(struct scratch *s, const struct py_offsets *off)
{
	struct describer *d = &s->describer;
	__u32 index = d->index;

	if (index >= d->frame_cnt || index >= KRAIT_MAX_FRAMES)
		return 1;
	d->index = index + 1;
	describe_frame(s, off, &s->frames[masked(index, KRAIT_MAX_FRAMES - 1)]);
	return 0;
}

/* Called before the steps: sets what the sample must describe and the budget for it. */
static __always_inline void describe_plan(struct scratch *s, struct proc_info *proc)
{
	const struct record_sample *record = &s->record;
	struct owner_books *books = owner_books();

	describe_begin(&s->describer, (__u64)record->pid << 32 ^ proc->start_ns,
		       record->code_generation, s->walker.frame_cnt, max_definitions);
	s->describer.bytes = describe_budget(proc, record->time_ns);
	proc->code_ns = record->time_ns;
	if (books && owner_use(books, record->owner)->codes_closed)
		s->describer.left = 0;
}

static __always_inline void describe_settle(const struct scratch *s, struct proc_info *proc)
{
	proc->code_bytes = s->describer.bytes;
}

#endif /* KRAIT_DESCRIBE_H */
