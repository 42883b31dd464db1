/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dict.c - tables indexed by id, each with an index over its keys. The look-up of children by
 * (parent, frame) is the one that has to be fast.
 */
#include "profile/dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/dict_tables.h"
#include "profile/identities.h"
#include "profile/parts.h"
#include "profile/strtab.h"
#include "profile/idtable.h"

struct dict *dict__new(const struct profile_limits *limits)
{
	struct dict *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->parts = parts__new();
	if (!d->parts || strtab_init(&d->strings) ||
	    idtable_init(&d->frames, sizeof(struct profile_frame)) ||
	    idtable_init(&d->nodes, sizeof(struct profile_node)) ||
	    idtable_init(&d->codes, sizeof(struct profile_code)) || room_init(&d->room, limits)) {
		dict__free(d);
		errno = ENOMEM;
		return NULL;
	}
	return d;
}

void dict__free(struct dict *d)
{
	if (!d)
		return;
	for (__u32 i = 1; i <= d->codes.cnt; i++)
		dict_free_code(&codes(d)[i]);
	strtab_free(&d->strings);
	idtable_free(&d->frames);
	idtable_free(&d->nodes);
	idtable_free(&d->codes);
	room_free(&d->room);
	identities_free(&d->identities);
	sources_free(&d->sources);
	parts__free(d->parts);
	free(d);
}

void dict__begin(struct dict *d, unsigned owner)
{
	room_begin(&d->room, owner);
}

void dict__cut_texts(struct dict *d, size_t max)
{
	d->text_max = max < DICT_TEXT_MAX ? max : DICT_TEXT_MAX;
}

__u64 dict__bytes_added(const struct dict *d)
{
	return d->room.bytes;
}

const struct quota *dict__quota(const struct dict *d, enum profile_resource resource)
{
	return d->room.quotas[resource];
}

struct identities *dict__identities(struct dict *d)
{
	return &d->identities;
}

const struct identities *dict__identities_of(const struct dict *d)
{
	return &d->identities;
}

void dict__note_kept(struct dict *d, __u32 code)
{
	codes(d)[code].kept = true;
}

struct sources *dict__sources(struct dict *d)
{
	return &d->sources;
}

const struct sources *dict__sources_of(const struct dict *d)
{
	return &d->sources;
}

struct parts *dict__parts(const struct dict *d)
{
	return d->parts;
}

/* ---- interning -------------------------------------------------------------------------------- */

/* Makes room for one more in the table, and pays for it. */
static int reserve(struct dict *d, enum profile_resource resource, struct idtable *t)
{
	if (room_take(&d->room, resource, 1))
		return -EDQUOT;
	if (!idtable_reserve(t))
		return 0;
	room_untake(&d->room, resource, 1);
	return -ENOMEM;
}

#define ELLIPSIS "\u2026"

/* Returns its length. */
static size_t cut(char *buf, const char *text, size_t max)
{
	size_t len = max - strlen(ELLIPSIS);

	/* Not within a character: its first byte is not of this form. */
	while (len && ((__u8)text[len] & 0xc0) == 0x80)
		len--;
	memcpy(buf, text, len);
	memcpy(buf + len, ELLIPSIS, sizeof(ELLIPSIS));
	return len + strlen(ELLIPSIS);
}

__u32 dict__string(struct dict *d, const char *text)
{
	char shorter[DICT_TEXT_MAX + 1];
	size_t len = strlen(text);
	__u32 id;

	if (d->text_max && len > d->text_max) {
		len = cut(shorter, text, d->text_max);
		text = shorter;
	}
	id = strtab_find(&d->strings, text, len);
	if (id || !len || room_take(&d->room, PROFILE_STRING_BYTES, len + STRTAB_OVERHEAD))
		return id;
	id = strtab_add(&d->strings, text, len, d->room.owner);
	if (!id)
		room_untake(&d->room, PROFILE_STRING_BYTES, len + STRTAB_OVERHEAD);
	return id;
}

static bool same_frame(const struct profile_frame *a, const struct profile_frame *b)
{
	return a->kind == b->kind && a->place == b->place &&
	       (a->place || (a->name == b->name && a->wrapper == b->wrapper)) &&
	       a->interpreter == b->interpreter && a->file == b->file &&
	       a->first_line == b->first_line && a->line == b->line && a->column == b->column &&
	       a->end_column == b->end_column && a->opcode == b->opcode && a->pid == b->pid &&
	       a->tid == b->tid && a->code == b->code && a->unit == b->unit &&
	       a->address == b->address && a->source == b->source && a->unknown == b->unknown;
}

__u32 dict_hash_frame(const struct profile_frame *f)
{
	__u32 flags = (__u32)f->kind | (__u32)f->unknown << 31 |
		      (__u32)(f->wrapper && !f->place) << 30 | (__u32)f->interpreter << 29;
	const int numbers[] = { f->first_line, f->line, f->column, f->end_column,
				f->pid,	       f->tid,	f->unit,   f->opcode };
	const __u32 ids[] = { flags,
			      f->place ? 0 : f->name,
			      f->file,
			      f->source,
			      f->place,
			      f->code,
			      (__u32)f->address,
			      (__u32)(f->address >> 32) };

	return idindex_hash_bytes(numbers, sizeof(numbers),
				  idindex_hash_bytes(ids, sizeof(ids), 0));
}

__u32 dict__frame(struct dict *d, const struct profile_frame *frame)
{
	__u32 hash = dict_hash_frame(frame);
	const struct idindex_slot *slot;

	idindex_for_each(&d->frames.index, hash, slot)
		if (same_frame(&frames(d)[slot->id], frame))
			return slot->id;
	/* Without its name it would be a different frame. */
	if (d->room.refused || reserve(d, PROFILE_FRAMES, &d->frames))
		return 0;
	return idtable_add(&d->frames, hash, frame, d->room.owner);
}

int dict__name_frame(struct dict *d, __u32 frame, const char *name, bool is_wrapper)
{
	unsigned before = d->room.owner;
	bool refused = d->room.refused;
	struct profile_frame *f;
	__u32 string;

	if (!frame || frame > d->frames.cnt || !frames(d)[frame].place)
		return 0;
	room_begin(&d->room, d->frames.owners[frame]);
	string = dict__string(d, name);
	room_begin(&d->room, before);
	d->room.refused = refused;
	if (!string)
		return -EDQUOT;
	f = &frames(d)[frame];
	f->name = string;
	f->wrapper = is_wrapper;
	d->named_cnt += f->kind != FRAME_THREAD;
	d->renamed_cnt += f->kind == FRAME_THREAD;
	return 0;
}

__u32 dict__renamed_cnt(const struct dict *d)
{
	return d->renamed_cnt;
}

__u32 dict__named_cnt(const struct dict *d)
{
	return d->named_cnt;
}

static bool same_code(const struct profile_code *a, const struct profile_code *b)
{
	return a->name == b->name && a->file == b->file && a->first_line == b->first_line &&
	       a->unit_cnt == b->unit_cnt && a->lines_size == b->lines_size &&
	       (!a->lines_size || !memcmp(a->lines, b->lines, a->lines_size));
}

__u32 dict_hash_code(const struct profile_code *c)
{
	const __u32 key[] = { c->name, c->file, (__u32)c->first_line, c->unit_cnt };

	return idindex_hash_bytes(c->lines, c->lines_size, idindex_hash_bytes(key, sizeof(key), 0));
}

/* Copies the lines, or leaves them out if there is no room. */
static void copy_lines(struct dict *d, struct profile_code *code)
{
	__u8 *copy = NULL;

	if (code->lines_size && !room_take(&d->room, PROFILE_LINE_BYTES, code->lines_size)) {
		copy = malloc(code->lines_size);
		if (copy)
			memcpy(copy, code->lines, code->lines_size);
		else
			room_untake(&d->room, PROFILE_LINE_BYTES, code->lines_size);
	}
	code->lines = copy;
	code->lines_size = copy ? code->lines_size : 0;
}

__u32 dict__code(struct dict *d, const struct profile_code *code)
{
	__u32 hash = dict_hash_code(code);
	const struct idindex_slot *slot;
	struct profile_code own = *code;

	idindex_for_each(&d->codes.index, hash, slot)
		if (same_code(&codes(d)[slot->id], code))
			return slot->id;
	if (reserve(d, PROFILE_CODES, &d->codes))
		return 0;
	own.opcodes = NULL;
	own.asked = 0;
	copy_lines(d, &own);
	return idtable_add(&d->codes, hash, &own, d->room.owner);
}

bool dict__wants_opcodes(struct dict *d, __u32 code)
{
	struct profile_code *c;

	if (!code || code > d->codes.cnt)
		return false;
	c = &codes(d)[code];
	c->asked++;
	return !(c->asked & (c->asked - 1));
}

void dict__put_opcodes(struct dict *d, __u32 code, const __u8 *opcodes)
{
	struct profile_code *c = &codes(d)[code];
	unsigned before = d->room.owner;
	bool refused = d->room.refused;

	if (!code || code > d->codes.cnt || !c->unit_cnt)
		return;
	if (!c->opcodes) {
		room_begin(&d->room, d->codes.owners[code]);
		if (!room_take(&d->room, PROFILE_LINE_BYTES, c->unit_cnt) &&
		    !(c->opcodes = malloc(c->unit_cnt)))
			room_untake(&d->room, PROFILE_LINE_BYTES, c->unit_cnt);
		room_begin(&d->room, before);
		d->room.refused = refused;
	}
	if (c->opcodes)
		memcpy((void *)c->opcodes, opcodes, c->unit_cnt);
}

void dict_free_code(struct profile_code *c)
{
	free((void *)c->lines);
	free((void *)c->opcodes);
}

__u32 dict__child(struct dict *d, __u32 parent_node, __u32 frame)
{
	__u32 hash = idindex_hash_pair(parent_node, frame);
	const struct idindex_slot *slot;
	struct profile_node new;

	idindex_for_each(&d->nodes.index, hash, slot) {
		const struct profile_node *n = &nodes(d)[slot->id];

		if (n->parent == parent_node && n->frame == frame)
			return slot->id;
	}
	if (!frame || frame > d->frames.cnt || parent_node > d->nodes.cnt) {
		d->room.refused = true;
		return 0;
	}
	if (reserve(d, PROFILE_NODES, &d->nodes))
		return 0;
	new = (struct profile_node){
		.parent = parent_node,
		.frame = frame,
		.depth = nodes(d)[parent_node].depth + 1U,
		.unknown = nodes(d)[parent_node].unknown || frames(d)[frame].unknown,
	};
	return idtable_add(&d->nodes, hash, &new, d->room.owner);
}

/* ---- access ----------------------------------------------------------------------------------- */

const char *dict__text(const struct dict *d, __u32 string)
{
	return strtab_text(&d->strings, string);
}

const struct profile_frame *dict__frame_at(const struct dict *d, __u32 frame)
{
	return &frames(d)[frame <= d->frames.cnt ? frame : 0];
}

const struct profile_node *dict__node_at(const struct dict *d, __u32 node)
{
	return &nodes(d)[node <= d->nodes.cnt ? node : 0];
}

const struct profile_code *dict__code_at(const struct dict *d, __u32 code)
{
	return &codes(d)[code <= d->codes.cnt ? code : 0];
}

__u32 dict__node_cnt(const struct dict *d)
{
	return d->nodes.cnt;
}

__u32 dict__frame_cnt(const struct dict *d)
{
	return d->frames.cnt;
}
