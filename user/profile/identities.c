/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/identities.h"

#include <stdlib.h>
#include <string.h>

#include "util/search.h"
#include "util/vec.h"

/* As many as there can be followed processes; beyond that, only world-readable files are shown. */
#define MAX_IDENTITIES 32768

void identities_free(struct identities *set)
{
	free(set->list);
	*set = (struct identities){ 0 };
}

bool identity_is_same(const struct identity *a, const struct identity *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->group_cnt == b->group_cnt &&
	       !memcmp(a->groups, b->groups, a->group_cnt * sizeof(a->groups[0]));
}

/* The index of a pid's first entry, or where it would be. */
static unsigned first_of(const struct identities *set, int pid)
{
	return (unsigned)sorted_below(set->cnt, i, set->list[i].pid < pid);
}

const struct identity *identities_find(const struct identities *set, int pid, unsigned n)
{
	unsigned i = first_of(set, pid);

	return n < set->cnt - i && set->list[i + n].pid == pid ? &set->list[i + n] : NULL;
}

static bool reserve(struct identities *set)
{
	return set->cnt < MAX_IDENTITIES && !vec_reserve(set->list, set->cap, set->cnt + 1);
}

void identities_add(struct identities *set, const struct identity *one)
{
	unsigned i = first_of(set, one->pid);

	for (; i < set->cnt && set->list[i].pid == one->pid; i++) {
		if (identity_is_same(&set->list[i], one))
			return;
	}
	if (!reserve(set))
		return;
	memmove(&set->list[i + 1], &set->list[i], (set->cnt - i) * sizeof(set->list[0]));
	set->list[i] = *one;
	set->cnt++;
}

void identities_keep(struct identities *set, const int *pids, unsigned cnt)
{
	unsigned kept = 0, at = 0;

	for (unsigned i = 0; i < set->cnt; i++) {
		while (at < cnt && pids[at] < set->list[i].pid)
			at++;
		if (at < cnt && pids[at] == set->list[i].pid)
			set->list[kept++] = set->list[i];
	}
	set->cnt = kept;
}

void identities_write(const struct identities *set, FILE *out)
{
	for (unsigned i = 0; i < set->cnt; i++) {
		const struct identity *one = &set->list[i];

		fprintf(out, "ids %d %u %u", one->pid, one->uid, one->gid);
		for (unsigned k = 0; k < one->group_cnt; k++)
			fprintf(out, " %u", one->groups[k]);
		putc('\n', out);
	}
}

/* The next number of the line. */
static bool take_id(const char **at, __u32 *ret)
{
	char *end;

	if (**at != ' ' || (*at)[1] < '0' || (*at)[1] > '9')
		return false;
	*ret = (__u32)strtoul(*at + 1, &end, 10);
	*at = end;
	return true;
}

void identities_read(struct identities *set, const char *text)
{
	for (; text && *text; text = strchr(text, '\n'), text += text ? 1 : 0) {
		struct identity one = { 0 };
		const char *at = text + 3;
		__u32 pid;

		if (strncmp(text, "ids ", 4) || !take_id(&at, &pid) || !take_id(&at, &one.uid) ||
		    !take_id(&at, &one.gid))
			continue;
		one.pid = (int)pid;
		while (one.group_cnt < IDENTITY_GROUPS && take_id(&at, &one.groups[one.group_cnt]))
			one.group_cnt++;
		identities_add(set, &one);
	}
}
