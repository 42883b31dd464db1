/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dict_forget.c - removes from a dictionary what nobody counts: what stays gets new ids in the old
 * order, and holders of ids learn them.
 */
#include "profile/dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/dict_tables.h"
#include "profile/parts.h"

dict_tag dict__tag(const struct dict *d, __u32 id)
{
	return id ? (__u64)d->epoch << 32 | id : 0;
}

__u32 dict__tagged(const struct dict *d, dict_tag tag)
{
	return tag >> 32 == d->epoch ? (__u32)tag : 0;
}

void dict__hold(struct dict *d, struct dict_holder *h)
{
	h->next = d->holders;
	d->holders = h;
}

void dict__release(struct dict *d, struct dict_holder *h)
{
	for (struct dict_holder **at = &d->holders; *at; at = &(*at)->next) {
		if (*at == h) {
			*at = h->next;
			return;
		}
	}
}

/* By id: 1 or the new id for what stays, 0 for what goes. */
struct forgetting {
	struct dict_map public;
	__u32 *frames, *codes;
	struct strtab strings;
	int *pids; /* of processes that stay, in order */
	__u32 pid_cnt;
};

static void forgetting_free(struct forgetting *f)
{
	free(f->public.nodes);
	free(f->public.strings);
	free(f->frames);
	free(f->codes);
	free(f->pids);
	strtab_free(&f->strings);
}

static int forgetting_init(struct forgetting *f, const struct dict *d)
{
	f->public.nodes = calloc((size_t)d->nodes.cnt + 1, sizeof(__u32));
	f->public.strings = calloc(d->strings.cnt, sizeof(__u32));
	f->frames = calloc((size_t)d->frames.cnt + 1, sizeof(__u32));
	f->codes = calloc((size_t)d->codes.cnt + 1, sizeof(__u32));
	if (!f->public.nodes || !f->public.strings || !f->frames || !f->codes)
		return -ENOMEM;
	return strtab_init(&f->strings);
}

/* Marks what the marked nodes consist of. */
static void mark_parts(const struct dict *d, struct forgetting *f)
{
	__u32 *strings = f->public.strings;

	for (__u32 i = d->nodes.cnt; i; i--) {
		if (!f->public.nodes[i])
			continue;
		f->public.nodes[nodes(d)[i].parent] = 1;
		f->frames[nodes(d)[i].frame] = 1;
	}
	for (__u32 i = 1; i <= d->frames.cnt; i++) {
		const struct profile_frame *frame = &frames(d)[i];

		if (f->frames[i])
			strings[frame->name] = strings[frame->file] = strings[frame->source] =
				f->codes[frame->code] = 1;
	}
	for (__u32 i = 1; i <= d->codes.cnt; i++) {
		if (f->codes[i])
			strings[codes(d)[i].name] = strings[codes(d)[i].file] = 1;
	}
}

static int copy_strings(const struct dict *d, struct forgetting *f)
{
	f->public.strings[0] = 0;
	for (__u32 i = 1; i < d->strings.cnt; i++) {
		const char *text = strtab_text(&d->strings, i);

		if (!f->public.strings[i])
			continue;
		f->public.strings[i] =
			strtab_add(&f->strings, text, strlen(text), d->strings.owners[i]);
		if (!f->public.strings[i])
			return -ENOMEM;
	}
	return 0;
}

static int compare_pids(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

/* The processes whose frames stay: their identities must stay, too. */
static int list_pids(const struct dict *d, struct forgetting *f)
{
	f->pids = calloc((size_t)d->frames.cnt + 1, sizeof(*f->pids));
	if (!f->pids)
		return -ENOMEM;
	for (__u32 i = 1; i <= d->frames.cnt; i++)
		if (f->frames[i] && frames(d)[i].kind == FRAME_PROCESS)
			f->pids[f->pid_cnt++] = frames(d)[i].pid;
	if (f->pid_cnt)
		qsort(f->pids, f->pid_cnt, sizeof(*f->pids), compare_pids);
	return 0;
}

static void give_back(struct dict *d, const struct forgetting *f)
{
	for (__u32 i = 1; i < d->strings.cnt; i++) {
		if (!f->public.strings[i])
			room_give(&d->room, PROFILE_STRING_BYTES, d->strings.owners[i],
				  strlen(strtab_text(&d->strings, i)) + STRTAB_OVERHEAD);
	}
	for (__u32 i = 1; i <= d->codes.cnt; i++) {
		struct profile_code *code = &codes(d)[i];

		if (f->codes[i])
			continue;
		room_give(&d->room, PROFILE_CODES, d->codes.owners[i], 1);
		room_give(&d->room, PROFILE_LINE_BYTES, d->codes.owners[i],
			  code->lines_size + (code->opcodes ? code->unit_cnt : 0));
		dict_free_code(code);
	}
	for (__u32 i = 1; i <= d->frames.cnt; i++) {
		if (!f->frames[i])
			room_give(&d->room, PROFILE_FRAMES, d->frames.owners[i], 1);
	}
	for (__u32 i = 1; i <= d->nodes.cnt; i++) {
		if (!f->public.nodes[i])
			room_give(&d->room, PROFILE_NODES, d->nodes.owners[i], 1);
	}
}

static void compact(struct dict *d, struct forgetting *f)
{
	const __u32 *strings = f->public.strings;
	struct strtab old = d->strings;

	d->strings = f->strings;
	f->strings = old;
	idtable_compact(&d->codes, f->codes);
	for (__u32 i = 1; i <= d->codes.cnt; i++) {
		struct profile_code *code = &codes(d)[i];

		code->name = strings[code->name];
		code->file = strings[code->file];
		idtable_index(&d->codes, dict_hash_code(code), i);
	}
	idtable_compact(&d->frames, f->frames);
	for (__u32 i = 1; i <= d->frames.cnt; i++) {
		struct profile_frame *frame = &frames(d)[i];

		frame->name = strings[frame->name];
		frame->file = strings[frame->file];
		frame->source = strings[frame->source];
		frame->code = f->codes[frame->code];
		idtable_index(&d->frames, dict_hash_frame(frame), i);
	}
	idtable_compact(&d->nodes, f->public.nodes);
	for (__u32 i = 1; i <= d->nodes.cnt; i++) {
		struct profile_node *n = &nodes(d)[i];

		n->parent = f->public.nodes[n->parent];
		n->frame = f->frames[n->frame];
		idtable_index(&d->nodes, idindex_hash_pair(n->parent, n->frame), i);
	}
	identities_keep(&d->identities, f->pids, f->pid_cnt);
	parts__clear(d->parts); /* the places are gone, or have new numbers */
	d->epoch++;
}

int dict__forget(struct dict *d)
{
	struct forgetting f = { 0 };
	int err;

	for (struct dict_holder *h = d->holders; h; h = h->next) {
		if (!h->mark)
			return -EBUSY;
	}
	err = forgetting_init(&f, d);
	if (!err) {
		for (struct dict_holder *h = d->holders; h; h = h->next)
			h->mark(h, &f.public);
		mark_parts(d, &f);
		err = copy_strings(d, &f);
	}
	if (!err)
		err = list_pids(d, &f);
	if (!err) {
		give_back(d, &f);
		compact(d, &f);
		for (struct dict_holder *h = d->holders; h; h = h->next)
			h->move(h, &f.public);
	}
	forgetting_free(&f);
	return err;
}
