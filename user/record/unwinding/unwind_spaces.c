/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/unwinding/unwind_spaces.h"

#include <errno.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "process/space/modules.h"
#include "process/space/space.h"
#include "record/unwinding/made_code.h"
#include "record/unwinding/unwind_files.h"
#include "record/unwinding/unwind_settle.h"
#include "native/rows/tables.h"

/* Mappings that one or more processes have. */
struct shared_space {
	__u64 digest;
	__u32 space;
	unsigned users;
	unsigned owner; /* who pays for it: its first user's */
	__u32 *files; /* numbers that it holds */
	__u32 file_cnt;
	UT_hash_handle hh;
};

struct unwind_spaces {
	struct unwind_tables *tables;
	struct unwind_files *files;
	struct shared_space *spaces;
	struct unwind_mapping list[UNWIND_MAPPINGS_MAX];
};

struct unwind_spaces *unwind_spaces__new(struct unwind_tables *tables, struct unwind_files *files)
{
	struct unwind_spaces *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->tables = tables;
	l->files = files;
	return l;
}

static void free_space(struct shared_space *s)
{
	free(s->files);
	free(s);
}

void unwind_spaces__free(struct unwind_spaces *l)
{
	struct shared_space *s, *next;

	if (!l)
		return;
	HASH_ITER(hh, l->spaces, s, next) {
		HASH_DEL(l->spaces, s);
		free_space(s);
	}
	free(l);
}

void unwind_spaces__release(struct unwind_spaces *l, __u64 digest)
{
	struct shared_space *s;

	HASH_FIND(hh, l->spaces, &digest, sizeof(digest), s);
	if (!s || --s->users)
		return;
	unwind_tables__drop_space(l->tables, s->space);
	for (__u32 i = 0; i < s->file_cnt; i++)
		unwind_files__release(l->files, s->files[i]);
	HASH_DEL(l->spaces, s);
	free_space(s);
}

/* Takes a reference on one number per mapped file, for the space. */
static __u32 hold_file(struct unwind_spaces *l, struct shared_space *s, const struct mapping *m)
{
	__u32 number = unwind_has_file(m) ? unwind_files__hold(l->files, m->module, s->owner) : 0;

	if (number)
		s->files[s->file_cnt++] = number;
	return number;
}

static int fill_list(struct unwind_spaces *l, struct shared_space *s, const struct space *view,
		     const struct made_code *made)
{
	const struct mapping *list;
	unsigned cnt;

	list = space__mappings(view, &cnt);
	if (cnt > UNWIND_MAPPINGS_MAX)
		cnt = UNWIND_MAPPINGS_MAX;
	s->files = calloc(cnt ? cnt : 1, sizeof(*s->files));
	if (!s->files)
		return -ENOMEM;
	for (unsigned i = 0; i < cnt; i++) {
		struct unwind_mapping *m = &l->list[i];

		*m = (struct unwind_mapping){
			.start = list[i].start,
			.end = list[i].end,
			.bias = list[i].start - list[i].offset,
			.file = hold_file(l, s, &list[i]),
		};
		if (made && made_code_is(&list[i]))
			m->file = made_code__number(made, &list[i], &m->bias);
	}
	s->space = unwind_tables__set_space(l->tables, 0, l->list, cnt, s->owner);
	return s->space ? 0 : -ENOSPC;
}

__u32 unwind_spaces__acquire(struct unwind_spaces *l, __u64 digest, const struct space *view,
			     const struct made_code *made, unsigned owner)
{
	struct shared_space *s;

	HASH_FIND(hh, l->spaces, &digest, sizeof(digest), s);
	if (s) {
		s->users++;
		for (__u32 i = 0; i < s->file_cnt && owner != s->owner; i++)
			unwind_files__share(l->files, s->files[i], owner);
		return s->space;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return 0;
	s->digest = digest;
	s->users = 1;
	s->owner = owner;
	HASH_ADD(hh, l->spaces, digest, sizeof(s->digest), s);
	if (!fill_list(l, s, view, made))
		return s->space;
	unwind_spaces__release(l, digest);
	return 0;
}
