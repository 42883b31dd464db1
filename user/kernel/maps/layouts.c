/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/maps/layouts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/share/quota.h"

/* Root's programs need two or three. */
#define ROOT_RESERVE (KRAIT_MAX_LAYOUTS / 8)

struct layout {
	struct py_offsets offsets;
	bool taken; /* in use, or resting */
	unsigned owner;
	__u32 users;
	__u64 free_ns; /* without users: when it can be reused */
};

struct layouts {
	struct py_offsets *map; /* shared with the kernel, or NULL */
	struct quota *quota;
	struct layout list[KRAIT_MAX_LAYOUTS];
};

struct layouts *layouts__new(struct py_offsets *map)
{
	struct layouts *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->map = map;
	l->quota = quota__new(KRAIT_MAX_LAYOUTS, ROOT_RESERVE);
	if (!l->quota) {
		free(l);
		return NULL;
	}
	return l;
}

void layouts__free(struct layouts *l)
{
	if (l)
		quota__free(l->quota);
	free(l);
}

/* CPython does not change structures within a minor version; if it did, the offsets would differ. */
static struct py_offsets without_micro(const struct py_offsets *offsets)
{
	struct py_offsets o = *offsets;

	o.version &= 0xffff0000;
	return o;
}

static struct layout *find(struct layouts *l, const struct py_offsets *offsets)
{
	for (int i = 0; i < KRAIT_MAX_LAYOUTS; i++)
		if (l->list[i].taken && !memcmp(&l->list[i].offsets, offsets, sizeof(*offsets)))
			return &l->list[i];
	return NULL;
}

/* Frees what has rested long enough. */
static void give_up_rested(struct layouts *l, __u64 now_ns)
{
	for (int i = 0; i < KRAIT_MAX_LAYOUTS; i++) {
		struct layout *e = &l->list[i];

		if (!e->taken || e->users || now_ns < e->free_ns)
			continue;
		e->taken = false;
		quota__give(l->quota, e->owner, 1);
	}
}

static int add(struct layouts *l, unsigned owner, const struct py_offsets *offsets, __u64 now_ns)
{
	__u32 i = 0;
	int err;

	give_up_rested(l, now_ns);
	err = quota__take(l->quota, owner, 1);
	if (err)
		return err;
	/* The quota has as many units as there are places. */
	while (l->list[i].taken)
		i++;
	/* No process has a layout that is not taken, or has rested; entering the first one is a system call. */
	if (l->map)
		l->map[i] = *offsets;
	l->list[i] = (struct layout){
		.offsets = *offsets,
		.taken = true,
		.owner = owner,
		.users = 1,
	};
	return (int)i;
}

int layouts__take(struct layouts *l, unsigned owner, const struct py_offsets *offsets, __u64 now_ns)
{
	const struct py_offsets wanted = without_micro(offsets);
	struct layout *e = find(l, &wanted);

	if (!e)
		return add(l, owner, &wanted, now_ns);
	e->users++;
	return (int)(e - l->list);
}

static struct layout *at(struct layouts *l, __u32 index)
{
	return index < KRAIT_MAX_LAYOUTS && l->list[index].taken ? &l->list[index] : NULL;
}

void layouts__use(struct layouts *l, __u32 index)
{
	struct layout *e = at(l, index);

	if (e)
		e->users++;
}

void layouts__drop(struct layouts *l, __u32 index, __u64 now_ns)
{
	struct layout *e = at(l, index);

	if (!e || !e->users)
		return;
	e->users--;
	e->free_ns = now_ns + LAYOUTS_REST_NS;
}

const struct py_offsets *layouts__at(const struct layouts *l, __u32 index)
{
	return index < KRAIT_MAX_LAYOUTS && l->list[index].taken ? &l->list[index].offsets : NULL;
}

const struct quota *layouts__quota(const struct layouts *l)
{
	return l->quota;
}
