/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * code_snapshot.h - sends a snapshot of each code object that a sample is the first to show (code_object.h).
 *
 * Must hold: a snapshot goes into the ring before the sample that needs it. One exception: if a
 * sample interrupts another one and both meet the same new object, the inner sample leaves before
 * the outer one's snapshot; then user space reads the object itself.
 */
#ifndef KRAIT_BPF_PYTHON_CODE_SNAPSHOT_H
#define KRAIT_BPF_PYTHON_CODE_SNAPSHOT_H

#include "bpf/abi.h"
#include "bpf/bounds.h"
#include "bpf/python/code_object.h"
#include "bpf/python/fingerprint.h"
#include "bpf/map/sampling.h"
#include "bpf/map/procs.h"
#include "bpf/read.h"
#include "bpf/map/room.h"
#include "bpf/map/scratch.h"
#include "bpf/share.h"

static __always_inline struct code_entry *code_entry(__u64 place)
{
	__u32 index = place & (CODE_TABLE_SIZE - 1);

	return bpf_map_lookup_elem(&codes, &index);
}

/* See code_object.h. */
__weak __noinline int snapshot_add_apart(__u32 memory, __u64 addr, __u32 size)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	struct record_code *record;
	__u32 index, pos;

	if (!s)
		return 1;
	record = &s->code;
	index = record->region_cnt;
	pos = record->data_size;
	if (index >= CODE_REGIONS || pos >= CODE_DATA_SIZE || size > CODE_REGION_MAX)
		return 1;
	if (read_user(&record->data[masked(pos, CODE_DATA_SIZE - 1)],
		      at_most(size, CODE_REGION_MAX), addr))
		return 1;
	index = at_most(index, CODE_REGIONS - 1);
	record->regions[index].addr = addr;
	record->regions[index].size = size;
	record->regions[index].pos = pos;
	record->region_cnt = index + 1;
	record->data_size = pos + size;
	return record->data_size > CODE_DATA_SIZE;
}

static __always_inline int snapshot_add(struct record_code *record, __u64 addr, __u32 size)
{
	struct scratch *s = (void *)record - __builtin_offsetof(struct scratch, code);

	return snapshot_add_apart(s->index, addr, size);
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

/*
 * Sends a snapshot of a code object. Returns 0, or 1 if it must be tried again. Few samples need it, so it is
 * verified once.
 */
__weak __noinline int define_code(__u32 memory, __u32 layout, __u64 code_addr, __u32 fingerprint)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	const struct py_offsets *off = layout_at(layout);

	if (!s)
		return 1;
	s->describer.left--;
	if (describe_snapshot(&s->describer, off, code_addr, fingerprint, &s->code))
		return 0;
	s->code.pid = s->record.pid;
	s->code.owner = s->record.owner;
	return send_code(s);
}

/* See fingerprint.h. */
__weak __noinline int contents_turn_apart(__u32 memory, __u32 pos)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	struct code_contents *c;

	if (!s)
		return -1;
	c = &s->describer.contents;
	c->hash = contents_mix_turn(c->hash, c->data + at_most(pos, CODE_CONTENTS_MAX));
	return 0;
}

static __always_inline int contents_turn(struct code_contents *c, __u32 pos)
{
	struct scratch *s = (void *)c - __builtin_offsetof(struct scratch, describer.contents);

	return contents_turn_apart(s->index, pos);
}

__weak __noinline int contents_add_apart(__u32 memory, __u32 pos, __u32 size)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);

	if (!s)
		return -1;
	contents_mix(&s->describer.contents, masked(pos, CODE_CONTENTS_HEAD - 1), size);
	return 0;
}

static void contents_add(struct code_contents *c, __u32 pos, __u32 size)
{
	struct scratch *s = (void *)c - __builtin_offsetof(struct scratch, describer.contents);

	s->describer.contents_left -= at_most(size, s->describer.contents_left);
	contents_add_apart(s->index, pos, size);
}

/*
 * Takes the contents of the code object whose key is in the window, as d->anew says. Returns the object's
 * fingerprint, or 0. It is verified once. What it needs stays in memory: Linux 5.10 has no more stack for it.
 */
__weak __noinline int describe_anew(__u32 memory, __u32 layout)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	const struct py_offsets *off = layout_at(layout);
	struct code_entry *e;
	struct describer *d;
	__u32 found;

	if (!s)
		return 0;
	d = &s->describer;
	if (d->contents_left < CODE_CONTENTS_LEAST)
		return d->anew.known;
	d->contents_left -= CODE_CONTENTS_LEAST;
	found = contents_fingerprint(&d->contents, off, d->window);
	e = code_entry(d->anew.place);
	/* Memory that is not present has not been written since it was. */
	if (!e || !found || found == d->anew.known)
		return d->anew.known;
	if (d->anew.known) {
		s->proc.replaced_ns = d->time_ns;
		count(COUNTER_CODE_REPLACED);
	}
	e->known = d->anew.tag | (found & ~CODE_DESCRIBED);
	return found;
}

/* The fingerprint of the code object at the place; 0: it cannot be read. */
static __always_inline __u32 describe_identify(struct scratch *s, const struct py_offsets *off,
					       struct code_entry *e, __u64 place, __u64 code_addr)
{
	const bool has_generation = off->interp.code_object_generation != PYOFF_ABSENT;
	struct describer *d = &s->describer;
	__u64 key, tag, proof, proved = e->proved, known;
	bool leaf = d->leaf, versioned;
	__u32 fingerprint;

	d->leaf = 0;
	/* Read again below: a place in memory instead of one on the stack. */
	d->anew.place = place;
	proof = has_generation ? code_tag(place, d->generation) : code_time(d, place);
	if (has_generation && (proved & CODE_UPPER) == proof && (__u32)proved)
		return (__u32)proved;
	if (describe_read_key(d, off, code_addr))
		return 0;
	key = code_key(d->window, off);
	tag = code_tag(*(volatile __u64 *)&d->anew.place, key);
	known = e->known;
	fingerprint = (known & CODE_UPPER) == tag ? (__u32)known | CODE_DESCRIBED : 0;
	versioned = code_version(d->window, off);
	if (!fingerprint || (!versioned && (leaf || proved != (proof | fingerprint)))) {
		d->contents.hash = key;
		d->anew.tag = tag;
		d->anew.known = fingerprint;
		fingerprint = describe_anew(s->index, s->proc.layout);
	}
	if (fingerprint && (has_generation || !versioned))
		e->proved = proof | fingerprint;
	return fingerprint;
}

/* Takes the fingerprint of a frame's code object, and sends a snapshot if the object is new. */
static __always_inline void describe_frame(struct scratch *s, const struct py_offsets *off,
					   struct frame *f)
{
	struct describer *d = &s->describer;
	struct code_met *met;
	struct code_entry *e;
	__u64 place, known;

	if (!f->code_addr || task_part_is_name(f))
		return;
	met = describe_met(d, f->code_addr);
	if (met->code_addr == f->code_addr) {
		f->fingerprint = met->fingerprint;
		return;
	}
	place = describer_place(d, f->code_addr);
	e = code_entry(place);
	if (!e)
		return;
	f->fingerprint = describe_identify(s, off, e, place, f->code_addr);
	met->code_addr = f->code_addr;
	met->fingerprint = f->fingerprint;
	known = e->known;
	if ((__u32)known == f->fingerprint || ((__u32)known | CODE_DESCRIBED) != f->fingerprint ||
	    !d->left || !d->bytes)
		return;
	if (!define_code(s->index, s->proc.layout, f->code_addr, f->fingerprint))
		e->known = known | CODE_DESCRIBED;
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

/*
 * Identifies the sample's interpreter. The numbers of one that was destroyed begin anew, and the next
 * one may lie where it was; its own id does not come again. The main one has no other before it.
 */
static __always_inline __u64 describe_interp(const struct record_sample *record,
					     const struct proc_info *proc,
					     const struct py_offsets *off)
{
	__u64 id = 0;

	if (off->code.version == PYOFF_ABSENT || off->interp.id == PYOFF_ABSENT ||
	    record->interp_addr - proc->runtime_addr < CODE_RUNTIME_BYTES)
		return 0;
	if (read_user_u64(&id, record->interp_addr + off->interp.id))
		return 0;
	return id;
}

/* Called before the steps: sets what the sample must describe and the budgets for it. */
static __always_inline void describe_plan(struct scratch *s, const struct py_offsets *off,
					  __u32 cnt)
{
	const struct record_sample *record = &s->record;
	struct proc_info *proc = &s->proc;
	__u64 process = (__u64)record->pid << 32 ^ proc->start_ns;
	struct describer *d = &s->describer;
	struct owner_books *books = owner_books();

	d->process =
		fingerprint_mix(fingerprint_mix(0, process), describe_interp(record, proc, off));
	d->generation = record->code_generation;
	d->time_ns = record->time_ns;
	d->index = 0;
	d->frame_cnt = cnt;
	d->left = max_definitions;
	d->bytes = describe_budget(proc, record->time_ns);
	d->contents_left = CODE_CONTENTS_BYTES;
	d->exact = (__s64)(d->time_ns - proc->replaced_ns) < CODE_REPLACED_NS;
	d->leaf = 1;
	for (int i = 0; i < CODE_MET; i++)
		d->met[i].code_addr = 0;
	proc->code_ns = record->time_ns;
	if (books && owner_use(books, record->owner)->codes_closed)
		d->left = 0;
}

static __always_inline void describe_settle(struct scratch *s)
{
	s->proc.code_bytes = s->describer.bytes;
}

#endif /* KRAIT_BPF_PYTHON_CODE_SNAPSHOT_H */
