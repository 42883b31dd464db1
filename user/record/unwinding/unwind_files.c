/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/unwinding/unwind_files.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "process/space/modules.h"
#include "bpf/native/rows.h"
#include "native/rows/tables.h"
#include "base/share/quota.h"
#include "base/data/vec.h"

/* So many numbers are for root; it pays for no more of others' that they share. */
#define ROOT_RESERVE (UNWIND_FILES_MAX / 8)

struct holder {
	const struct module *module; /* NULL: code without a file, or free */
	__u32 users;
	bool owned; /* whose the file is pays, not who maps it */
};

struct unwind_files {
	struct unwind_tables *tables;
	struct quota *held; /* numbers */
	struct holder holders[UNWIND_FILES_MAX]; /* indexed by number */
	__u32 cnt; /* highest number given out, plus one */
	__u16 *numbers; /* indexed by the module's number */
	__u32 number_cap;
};

_Static_assert(UNWIND_FILES_MAX <= 1 << 16, "a number fits");

struct unwind_files *unwind_files__new(struct unwind_tables *tables)
{
	struct unwind_files *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->tables = tables;
	f->cnt = 1;
	f->held = quota__new(UNWIND_FILES_MAX - 1, ROOT_RESERVE);
	if (f->held)
		return f;
	free(f);
	return NULL;
}

void unwind_files__free(struct unwind_files *f)
{
	if (!f)
		return;
	quota__free(f->held);
	free(f->numbers);
	free(f);
}

static int reserve(struct unwind_files *f, __u32 number)
{
	__u32 before = f->number_cap;

	if (vec_reserve(f->numbers, f->number_cap, number + 1))
		return -ENOMEM;
	memset(f->numbers + before, 0, (f->number_cap - before) * sizeof(*f->numbers));
	return 0;
}

/* Frees the number; its previous owner no longer finds it. */
static void take_away(struct unwind_files *f, __u32 number)
{
	const struct module *module = f->holders[number].module;

	if (module)
		f->numbers[module__number(module)] = 0;
	f->holders[number] = (struct holder){ 0 };
	unwind_tables__forget(f->tables, number);
}

/* A number that nobody holds: a free one, or the least recently used; 0: none. */
static __u32 find_unused(struct unwind_files *f)
{
	__u32 oldest = 0;

	for (__u32 i = 1; i < f->cnt; i++) {
		if (f->holders[i].users)
			continue;
		if (!f->holders[i].module)
			return i;
		if (!oldest ||
		    unwind_tables__used(f->tables, i) < unwind_tables__used(f->tables, oldest))
			oldest = i;
	}
	if (oldest)
		take_away(f, oldest);
	return oldest;
}

static __u32 new_number(struct unwind_files *f)
{
	return f->cnt < UNWIND_FILES_MAX ? f->cnt++ : find_unused(f);
}

/* The number that nobody holds becomes the owner's, who has taken one from his quota. */
static __u32 begin(struct unwind_files *f, __u32 number, unsigned owner)
{
	if (!number) {
		quota__give(f->held, owner, 1);
		return 0;
	}
	f->holders[number].users = 1;
	unwind_tables__set_owner(f->tables, number, owner);
	return number;
}

/* Before a number is given out or taken from another module: who has too many changes nothing. */
static bool may_begin(struct unwind_files *f, unsigned owner)
{
	return !quota__take(f->held, owner, 1);
}

/*
 * What several owners use is root's: one of them could make the others' rows go with his own. Not without limit: two who
 * map everything together would pay for nothing, and have all numbers.
 */
static void share(struct unwind_files *f, __u32 number, unsigned owner)
{
	unsigned payer = unwind_tables__owner(f->tables, number);

	if (f->holders[number].owned || payer == owner || payer == OWNER_ROOT ||
	    quota__held(f->held, OWNER_ROOT) >= ROOT_RESERVE)
		return;
	quota__give(f->held, payer, 1);
	if (!quota__take(f->held, OWNER_ROOT, 1))
		unwind_tables__set_owner(f->tables, number, OWNER_ROOT);
}

__u32 unwind_files__find(const struct unwind_files *f, const struct module *module)
{
	__u32 number = module__number(module);

	return number < f->number_cap ? f->numbers[number] : 0;
}

/* The module's number, which is new if it has none; 0: there is no more. */
static __u32 number_of(struct unwind_files *f, const struct module *module)
{
	__u32 number = unwind_files__find(f, module);

	if (number)
		return number;
	if (reserve(f, module__number(module)))
		return 0;
	number = new_number(f);
	if (!number)
		return 0;
	f->numbers[module__number(module)] = (__u16)number;
	f->holders[number].module = module;
	return number;
}

/* Does it begin again at the expense of whose file it is? If he has too many others, who maps it pays. */
static bool begin_owned(struct unwind_files *f, __u32 number)
{
	struct holder *h = &f->holders[number];

	if (!h->owned)
		return false;
	h->owned = !quota__take(f->held, unwind_tables__owner(f->tables, number), 1);
	h->users = h->owned;
	return h->owned;
}

__u32 unwind_files__hold(struct unwind_files *f, const struct module *module, unsigned owner)
{
	__u32 number = unwind_files__find(f, module);

	if (!f->holders[number].users) {
		if (begin_owned(f, number))
			return number;
		return may_begin(f, owner) ? begin(f, number_of(f, module), owner) : 0;
	}
	share(f, number, owner);
	f->holders[number].users++;
	return number;
}

void unwind_files__set_payer(struct unwind_files *f, __u32 number, unsigned owner)
{
	struct holder *h = &f->holders[number];
	unsigned payer = unwind_tables__owner(f->tables, number);

	if (!h->users || h->owned || (payer != owner && quota__take(f->held, owner, 1)))
		return;
	h->owned = true;
	if (payer == owner)
		return;
	quota__give(f->held, payer, 1);
	unwind_tables__set_owner(f->tables, number, owner);
}

void unwind_files__share(struct unwind_files *f, __u32 number, unsigned owner)
{
	share(f, number, owner);
}

__u32 unwind_files__hold_made(struct unwind_files *f, unsigned owner)
{
	return may_begin(f, owner) ? begin(f, new_number(f), owner) : 0;
}

void unwind_files__release(struct unwind_files *f, __u32 number)
{
	if (!number || --f->holders[number].users)
		return;
	quota__give(f->held, unwind_tables__owner(f->tables, number), 1);
	if (!f->holders[number].module)
		take_away(f, number);
}
