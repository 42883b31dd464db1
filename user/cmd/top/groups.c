/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/search.h"
#include "base/data/vec.h"

struct group {
	int pid;
	__u32 image, name; /* string ids */
	bool is_there;
};

struct groups {
	struct dict *dict;
	struct group *list; /* sorted by pid */
	__u32 cnt, cap;
	struct dict_holder holder;
};

static struct groups *groups_at(struct dict_holder *h)
{
	return (struct groups *)((char *)h - offsetof(struct groups, holder));
}

static void mark(struct dict_holder *h, struct dict_map *live)
{
	const struct groups *g = groups_at(h);

	for (__u32 i = 0; i < g->cnt; i++)
		live->strings[g->list[i].name] = 1;
}

static void move(struct dict_holder *h, const struct dict_map *ids)
{
	struct groups *g = groups_at(h);

	for (__u32 i = 0; i < g->cnt; i++)
		g->list[i].name = ids->strings[g->list[i].name];
}

struct groups *groups__new(struct dict *dict)
{
	struct groups *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->dict = dict;
	g->holder = (struct dict_holder){ .mark = mark, .move = move };
	dict__hold(dict, &g->holder);
	return g;
}

void groups__free(struct groups *g)
{
	if (!g)
		return;
	dict__release(g->dict, &g->holder);
	free(g->list);
	free(g);
}

static __u32 place_of(const struct groups *g, int pid)
{
	return (__u32)sorted_below(g->cnt, i, g->list[i].pid < pid);
}

bool groups__is_new(const struct groups *g, int pid, __u32 image)
{
	__u32 i = place_of(g, pid);

	return i == g->cnt || g->list[i].pid != pid || g->list[i].image != image;
}

void groups__set(struct groups *g, int pid, __u32 image, const char *text)
{
	__u32 i = place_of(g, pid);

	if (i == g->cnt || g->list[i].pid != pid) {
		if (vec_reserve(g->list, g->cap, g->cnt + 1))
			return;
		memmove(&g->list[i + 1], &g->list[i], (g->cnt - i) * sizeof(g->list[0]));
		g->cnt++;
	}
	g->list[i] =
		(struct group){ .pid = pid, .image = image, .name = dict__string(g->dict, text) };
}

__u32 groups_of(void *groups, int pid)
{
	const struct groups *g = groups;
	__u32 i = place_of(g, pid);

	return i < g->cnt && g->list[i].pid == pid ? g->list[i].name : 0;
}

void groups__trim(struct groups *g)
{
	__u32 frames = dict__frame_cnt(g->dict), cnt = 0;

	for (__u32 i = 0; i < g->cnt; i++)
		g->list[i].is_there = false;
	for (__u32 i = 1; i <= frames; i++) {
		const struct profile_frame *f = dict__frame_at(g->dict, i);
		__u32 at = f->kind == FRAME_PROCESS ? place_of(g, f->pid) : g->cnt;

		if (at < g->cnt && g->list[at].pid == f->pid)
			g->list[at].is_there = true;
	}
	for (__u32 i = 0; i < g->cnt; i++) {
		if (g->list[i].is_there)
			g->list[cnt++] = g->list[i];
	}
	g->cnt = cnt;
}
