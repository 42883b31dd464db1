/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/space/code_list.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/space/modules.h"
#include "base/share/quota.h"
#include "base/data/hash.h"
#include "base/data/search.h"
#include "base/data/vec.h"

/* How many share the lists: a process and its children. */
struct code_list_users {
	unsigned cnt;
	unsigned owner; /* who pays for them */
	__u32 ranges; /* how much was paid */
};

/* Makes room for one more. Returns 0, -E2BIG, -ENOMEM. */
static int reserve_code(struct code_list *l)
{
	if (l->code_cnt == CODE_LIST_MAX)
		return -E2BIG;
	return vec_reserve(l->code, l->code_cap, l->code_cnt + 1);
}

/* Can it have names? */
static bool has_names(const struct module *m)
{
	return module__inode(m) || !strcmp(module__name(m), "[vdso]");
}

static void keep_files(struct code_list *l)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < l->code_cnt; i++)
		if (has_names(l->code[i].module))
			l->code[kept++] = l->code[i];
	l->code_cnt = kept;
	l->only_files = true;
}

int code_list_add(struct code_list *l, const struct mapping *m)
{
	int err = m->module ? 0 : -ENOMEM;

	if (!err && l->code_cnt == CODE_LIST_MAX) {
		l->cut = true;
		if (!l->only_files)
			keep_files(l);
	}
	if (!err && l->only_files && !has_names(m->module))
		return 0;
	if (!err)
		err = reserve_code(l);
	if (!err)
		l->code[l->code_cnt++] = *m;
	return err;
}

void code_list_add_data(struct code_list *l, __u64 start, __u64 end)
{
	if (l->data_cnt && l->data[l->data_cnt - 1].end == start) {
		l->data[l->data_cnt - 1].end = end;
		return;
	}
	if (l->data_cnt == CODE_LIST_MAX || vec_reserve(l->data, l->data_cap, l->data_cnt + 1))
		return;
	l->data[l->data_cnt++] = (struct code_list_range){ start, end };
}

void code_list_free(struct code_list *l, struct quota *q)
{
	if (l->users && --l->users->cnt)
		return;
	if (l->users)
		quota__give(q, l->users->owner, l->users->ranges);
	free(l->users);
	free(l->code);
	free(l->data);
}

int code_list_pay(struct code_list *l, struct quota *q, unsigned owner)
{
	struct code_list_users *users = calloc(1, sizeof(*users));

	if (!users)
		return -ENOMEM;
	*users = (struct code_list_users){ 1, owner, l->code_cnt + l->data_cnt };
	if (quota__take(q, owner, users->ranges)) {
		l->data_cnt = 0;
		users->ranges = l->code_cnt;
		while (users->ranges && quota__take(q, owner, users->ranges))
			users->ranges /= 2;
		l->cut |= l->code_cnt > users->ranges;
		l->code_cnt = users->ranges;
	}
	l->users = users;
	return 0;
}

__u64 code_list_digest(const struct code_list *l)
{
	__u64 digest = l->code_cnt;

	for (unsigned i = 0; i < l->code_cnt; i++) {
		const struct mapping *m = &l->code[i];
		const __u64 words[] = { m->start, m->end, m->offset, (__u64)(uintptr_t)m->module };

		for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
			digest = hash_step(digest, words[k]);
		digest ^= digest >> 32;
	}
	return digest;
}

void code_list_share(struct code_list *ret, const struct code_list *l)
{
	*ret = *l;
	if (l->users)
		l->users->cnt++;
}

static int copy_code(struct code_list *ret, const struct code_list *old, const struct mapping *new)
{
	bool in = false;
	int err = 0;

	for (unsigned i = 0; i < old->code_cnt && !err; i++) {
		const struct mapping *m = &old->code[i];
		struct mapping before = *m, behind = *m;

		before.end = m->end < new->start ? m->end : new->start;
		behind.start = m->start > new->end ? m->start : new->end;
		behind.offset += behind.start - m->start;
		if (before.start < before.end)
			err = code_list_add(ret, &before);
		if (!err && !in && m->end > new->start) {
			err = code_list_add(ret, new);
			in = true;
		}
		if (!err && behind.start < behind.end)
			err = code_list_add(ret, &behind);
	}
	return err || in ? err : code_list_add(ret, new);
}

static void copy_data(struct code_list *ret, const struct code_list *old, const struct mapping *new)
{
	for (unsigned i = 0; i < old->data_cnt; i++) {
		const struct code_list_range *r = &old->data[i];

		if (r->start < new->start)
			code_list_add_data(ret, r->start,
					   r->end < new->start ? r->end : new->start);
		if (r->end > new->end)
			code_list_add_data(ret, r->start > new->end ? r->start : new->end, r->end);
	}
}

int code_list_with(struct code_list *ret, const struct code_list *old, const struct mapping *new)
{
	ret->cut = old->cut;
	copy_data(ret, old, new);
	return copy_code(ret, old, new);
}

const struct mapping *code_list_find(const struct code_list *l, __u64 addr)
{
	size_t cnt = sorted_below(l->code_cnt, i, l->code[i].start <= addr);

	return cnt && addr < l->code[cnt - 1].end ? &l->code[cnt - 1] : NULL;
}

const struct code_list_range *code_list_data(const struct code_list *l, __u64 addr)
{
	size_t cnt = sorted_below(l->data_cnt, i, l->data[i].start <= addr);

	return cnt && addr < l->data[cnt - 1].end ? &l->data[cnt - 1] : NULL;
}
