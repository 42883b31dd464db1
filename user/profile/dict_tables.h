/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dict_tables.h - the tables of a dictionary, shared by dict.c, which adds to them, and
 * dict_forget.c, which removes from them.
 *
 * Must hold: nobody else includes this.
 */
#ifndef KRAIT_PROFILE_DICT_TABLES_H
#define KRAIT_PROFILE_DICT_TABLES_H

#include "profile/dict.h"
#include "profile/identities.h"
#include "profile/sources.h"
#include "profile/idtable.h"
#include "profile/room.h"
#include "profile/strtab.h"

struct parts;

struct dict {
	struct strtab strings;
	struct idtable frames, nodes, codes; /* of struct profile_… */
	struct room room;
	struct identities identities;
	struct sources sources;
	struct parts *parts;
	struct dict_holder *holders;
	size_t text_max; /* 0: none */
	__u32 named_cnt, renamed_cnt;
	__u32 epoch; /* changes with each dict__forget() */
};

static inline struct profile_frame *frames(const struct dict *d)
{
	return d->frames.items;
}

static inline struct profile_node *nodes(const struct dict *d)
{
	return d->nodes.items;
}

static inline struct profile_code *codes(const struct dict *d)
{
	return d->codes.items;
}

/* Hashes over what distinguishes items: the keys of the indexes. */
__u32 dict_hash_frame(const struct profile_frame *f);
__u32 dict_hash_code(const struct profile_code *c);
/* Frees what it points to. */
void dict_free_code(struct profile_code *c);

#endif /* KRAIT_PROFILE_DICT_TABLES_H */
