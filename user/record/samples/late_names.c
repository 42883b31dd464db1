/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/late_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/space/modules.h"
#include "profile/dict.h"
#include "native/names/native.h"
#include "native/names/native_files.h"
#include "native/names/symbol_fetches.h"
#include "base/system/clock.h"
#include "base/data/vec.h"

/* Offsets per question. */
#define BATCH 64U

struct late_place {
	__u64 offset;
	__u32 frame;
};

/*
 * The offsets to ask about in one file, in the order in which they were met, so that repeating a
 * question asks the same.
 */
struct late_file {
	struct module *module; /* NULL: nothing met there yet */
	struct native *native; /* a process that maps it; NULL once its symbols have been read */
	struct late_place *list;
	__u32 cnt, cap;
};

struct late_names {
	struct native_files *files;
	struct dict *dict;
	struct late_file *list; /* indexed by the module's number */
	__u32 file_cnt, file_cap;
	__u64 place_cnt; /* in all files */
	__u64 refused; /* names that found no room */
	struct symbol_fetches *fetches; /* NULL: no servers */
};

struct late_names *late_names__new(struct native_files *files, struct dict *dict, bool fetches)
{
	struct late_names *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->files = files;
	l->dict = dict;
	l->fetches = fetches ? symbol_fetches__new(files) : NULL;
	if (!fetches || l->fetches)
		return l;
	free(l);
	return NULL;
}

void late_names__free(struct late_names *l)
{
	if (!l)
		return;
	for (__u32 i = 0; i < l->file_cnt; i++)
		free(l->list[i].list);
	free(l->list);
	symbol_fetches__free(l->fetches);
	free(l);
}

/* NULL: out of memory. */
static struct late_file *file_of(struct late_names *l, struct module *module)
{
	__u32 number = module__number(module);

	if (vec_reserve(l->list, l->file_cap, (__u64)number + 1))
		return NULL;
	for (; l->file_cnt <= number; l->file_cnt++)
		l->list[l->file_cnt] = (struct late_file){ 0 };
	l->list[number].module = module;
	return &l->list[number];
}

void late_names__add(struct late_names *l, __u32 frame, struct native *native,
		     struct module *module, __u64 offset)
{
	struct late_file *f = file_of(l, module);

	if (!f || vec_reserve(f->list, f->cap, f->cnt + 1)) {
		l->refused++;
		return;
	}
	f->list[f->cnt++] = (struct late_place){ offset, frame };
	l->place_cnt++;
	if (native_files__is_closed(l->files, module))
		f->native = native;
}

static void read_symbols(struct late_file *f)
{
	if (f->native)
		native__read_symbols(f->native, f->module);
	f->native = NULL;
}

void late_names__forget(struct late_names *l, const struct native *native)
{
	for (__u32 i = 0; i < l->file_cnt && native; i++) {
		if (l->list[i].native == native)
			read_symbols(&l->list[i]);
	}
}

static void name(struct late_names *l, struct late_file *f, __u32 i)
{
	const struct native_symbol *s = native_files__known(l->files, f->module, f->list[i].offset);

	if (s && dict__name_frame(l->dict, f->list[i].frame, s->name, s->is_wrapper))
		l->refused++;
}

/* Names some places from number i on. Returns how many are done; 0: none for now. */
static __u32 name_some(struct late_names *l, struct late_file *f, __u32 i)
{
	__u32 cnt = f->cnt - i < BATCH ? f->cnt - i : BATCH;
	__u64 offsets[BATCH] = { 0 };

	for (__u32 k = 0; k < cnt; k++)
		offsets[k] = f->list[i + k].offset;
	if (native_files__ask(l->files, f->module, offsets, cnt) == -EAGAIN)
		return 0;
	for (__u32 k = 0; k < cnt; k++)
		name(l, f, i + k);
	return cnt;
}

static void resolve_file(struct late_names *l, struct late_file *f, __u64 until_ns)
{
	__u32 done = 0, more = 1;

	read_symbols(f);
	if (l->fetches && symbol_fetches__may_come(l->fetches, f->module))
		return;
	while (done < f->cnt && more && clock_monotonic_ns() < until_ns) {
		more = name_some(l, f, done);
		done += more;
	}
	f->cnt -= done;
	l->place_cnt -= done;
	memmove(f->list, f->list + done, f->cnt * sizeof(*f->list));
}

void late_names__resolve(struct late_names *l, __u64 until_ns)
{
	if (!l)
		return;
	if (l->fetches)
		symbol_fetches__step(l->fetches);
	for (__u32 i = 0; i < l->file_cnt && l->place_cnt; i++) {
		if (l->list[i].cnt)
			resolve_file(l, &l->list[i], until_ns);
	}
}

unsigned late_names__fetching(const struct late_names *l)
{
	return l && l->fetches ? symbol_fetches__left(l->fetches) : 0;
}

void late_names__stop_fetching(struct late_names *l)
{
	if (!l)
		return;
	symbol_fetches__free(l->fetches);
	l->fetches = NULL;
}

__u64 late_names__unnamed(const struct late_names *l)
{
	return l ? l->place_cnt + l->refused : 0;
}
