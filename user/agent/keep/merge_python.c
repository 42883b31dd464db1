/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merge_python.c - turns a function of a library back into a code object of the dictionary, with a
 * line table that says for each slot what the library's DWARF says; equal functions of two captures
 * then become one.
 */
#include "agent/keep/merge_python.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/dso/dso.h"
#include "capture/dso/dso_reader.h"
#include "agent/keep/line_rows.h"
#include "profile/frames.h"
#include "profile/marks.h"
#include "bpf/share.h"
#include "base/data/bytes.h"
#include "base/data/vec.h"

/* The last two slots of a code object are not units (capture/dso/dso.h). */
#define EXTRA_SLOTS 2U

/* Where a library's slots are in the result; 0: not placed yet. */
struct library {
	bool known;
	struct dso_reader *reader; /* NULL: unreadable */
	__u64 *slots;
	__u32 slot_cnt;
};

struct merge_python {
	struct dict *dict;
	struct dso *dso;
	struct library list[DSO_MAX_GENERATIONS];
	unsigned end; /* end of the last known one */
	__u64 unnamed;
};

struct merge_python *merge_python__new(struct dict *dict, struct dso *dso)
{
	struct merge_python *m = calloc(1, sizeof(*m));

	if (m) {
		m->dict = dict;
		m->dso = dso;
	}
	return m;
}

void merge_python__clear(struct merge_python *m)
{
	for (unsigned i = 0; i < m->end; i++) {
		dso_reader__free(m->list[i].reader);
		free(m->list[i].slots);
		m->list[i] = (struct library){ 0 };
	}
	m->end = 0;
}

void merge_python__free(struct merge_python *m)
{
	if (!m)
		return;
	merge_python__clear(m);
	free(m);
}

bool merge_python__is(__u64 address)
{
	return address >= DSO_BASE && address - DSO_BASE < (__u64)DSO_MAX_GENERATIONS * DSO_STRIDE;
}

static unsigned index_of(__u64 address)
{
	return (unsigned)((address - DSO_BASE) / DSO_STRIDE);
}

bool merge_python__has(const struct merge_python *m, __u64 start)
{
	return merge_python__is(start) && m->list[index_of(start)].known;
}

int merge_python__add(struct merge_python *m, __u64 start, struct dso_reader *reader)
{
	struct library *l = merge_python__is(start) ? &m->list[index_of(start)] : NULL;

	if (!l || (start - DSO_BASE) % DSO_STRIDE || l->known) {
		dso_reader__free(reader);
		return l && l->known ? 0 : -EINVAL;
	}
	l->known = true;
	l->reader = reader;
	if (index_of(start) >= m->end)
		m->end = index_of(start) + 1;
	return 0;
}

const char *merge_python__notes(const struct merge_python *m)
{
	for (unsigned i = m->end; i-- > 0;) {
		if (m->list[i].reader)
			return dso_reader__notes(m->list[i].reader);
	}
	return NULL;
}

__u64 merge_python__unnamed(const struct merge_python *m)
{
	return m->unnamed;
}

/* ---- functions -------------------------------------------------------------------------------- */

/* The frame for code without a code object. */
static __u32 lone_frame(struct merge_python *m, const struct profile_frame *place)
{
	struct profile_frame frame = *place;

	frame.unit = -1;
	return dict__frame(m->dict, &frame);
}

static __u32 unnamed_frame(struct merge_python *m, __u64 offset)
{
	char text[64];

	m->unnamed++;
	snprintf(text, sizeof(text), MARK_PYTHON_FORMAT, (unsigned long long)offset);
	return frame_mark(m->dict, text);
}

/* Makes a line table with what the DWARF says of each slot except the last two. */
static __u32 make_code(struct merge_python *m, struct dso_reader *r,
		       const struct profile_frame *first, const struct dso_extent *at)
{
	const __u32 unit_cnt = (__u32)((at->end - at->start) / DSO_SLOT) - EXTRA_SLOTS;
	struct line_rows rows = { 0 };
	struct profile_frame place;
	struct profile_code code = {
		.name = first->name,
		.file = first->file,
		.first_line = first->first_line > 0 ? first->first_line : 0,
		.unit_cnt = unit_cnt,
	};
	__u32 id = 0;

	line_rows_init(&rows, code.first_line);
	for (__u32 i = 0; i < unit_cnt; i++) {
		if (!dso_reader__find(r, NULL, at->start + (__u64)i * DSO_SLOT, &place))
			place.line = place.column = place.end_column = -1;
		line_rows_add(&rows, place.line, place.column, place.end_column);
	}
	line_rows_end(&rows);
	if (!rows.bytes.failed) {
		code.lines = rows.bytes.data;
		code.lines_size = (__u32)rows.bytes.len;
		id = dict__code(m->dict, &code);
	}
	bytes_free(&rows.bytes);
	return id;
}

static __u32 code_frame(struct merge_python *m, const struct profile_frame *place, __u32 code,
			__u32 unit)
{
	struct profile_frame frame = *place;

	frame.code = code;
	frame.unit = (int)unit;
	return dict__frame(m->dict, &frame);
}

static int reserve(struct library *l, __u32 slot_cnt)
{
	__u64 *grown;

	if (slot_cnt <= l->slot_cnt)
		return 0;
	grown = reallocarray(l->slots, slot_cnt, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + l->slot_cnt, 0, (slot_cnt - l->slot_cnt) * sizeof(*grown));
	l->slots = grown;
	l->slot_cnt = slot_cnt;
	return 0;
}

/*
 * Places all slots of a function at once: the address of the first one is its code's, and the
 * others follow. For the last two it asks as krait records them: a place with that line but no
 * unit, and one without a line.
 */
static __u64 place_function(struct merge_python *m, struct library *l,
			    const struct profile_frame *place, const struct dso_extent *at)
{
	const __u32 first = (__u32)(at->start / DSO_SLOT),
		    cnt = (__u32)((at->end - at->start) / DSO_SLOT);
	__u32 code, frame;
	__u64 start;

	if (reserve(l, first + cnt))
		return 0;
	code = cnt > EXTRA_SLOTS && place->kind != FRAME_MARK ? make_code(m, l->reader, place, at) :
								0;
	frame = code ? code_frame(m, place, code, 0) : lone_frame(m, place);
	start = dso__address(m->dso, m->dict, frame);
	/* If the code object found no room, each of its lines has a slot of its own. */
	for (__u32 i = 0; i < cnt && start; i++)
		l->slots[first + i] = code || cnt == 1 ? start + (__u64)i * DSO_SLOT : 0;
	return start;
}

static __u64 find_address(struct merge_python *m, struct library *l, __u64 offset)
{
	const __u32 slot = (__u32)(offset / DSO_SLOT);
	struct profile_frame place;
	struct dso_extent at;
	__u64 found = 0;

	if (!l->reader || !dso_reader__find(l->reader, m->dict, offset, &place) ||
	    !dso_reader__extent(l->reader, offset, &at))
		return dso__address(m->dso, m->dict, unnamed_frame(m, offset));
	if (slot < l->slot_cnt && l->slots[slot])
		return l->slots[slot];
	found = place_function(m, l, &place, &at);
	return slot < l->slot_cnt && l->slots[slot] ? l->slots[slot] : found;
}

__u64 merge_python__address(struct merge_python *m, __u64 address)
{
	struct library *l = &m->list[index_of(address)];
	__u64 offset = (address - DSO_BASE) % DSO_STRIDE;

	if (offset / DSO_SLOT < l->slot_cnt && l->slots[offset / DSO_SLOT])
		return l->slots[offset / DSO_SLOT];
	dict__begin(m->dict, OWNER_ROOT);
	return find_address(m, l, offset);
}
