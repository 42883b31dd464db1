/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/identities.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/search.h"
#include "base/data/vec.h"

/* Of others than root: as many as there can be followed processes, and half as many for root. */
#define MAX_IDENTITIES 32768
#define MAX_WITH_ROOT (MAX_IDENTITIES + MAX_IDENTITIES / 2)

void identities_free(struct identities *set)
{
	free(set->list);
	*set = (struct identities){ 0 };
}

bool identity_is_same(const struct identity *a, const struct identity *b)
{
	return a->doubt == b->doubt && a->uid == b->uid && a->gid == b->gid &&
	       a->group_cnt == b->group_cnt &&
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

static bool reserve(struct identities *set, uid_t uid)
{
	return set->cnt < (uid ? MAX_IDENTITIES : MAX_WITH_ROOT) &&
	       !vec_reserve(set->list, set->cap, set->cnt + 1);
}

void identities_add(struct identities *set, const struct identity *one)
{
	unsigned first = first_of(set, one->pid), i = first;

	for (; i < set->cnt && set->list[i].pid == one->pid; i++) {
		if (identity_is_same(&set->list[i], one) && set->list[i].said == one->said)
			return;
	}
	if (i - first >= IDENTITIES_OF_PID || !reserve(set, one->uid)) {
		/* One that has none is in doubt anyway. */
		if (i > first)
			set->list[first].doubt = true;
		return;
	}
	memmove(&set->list[i + 1], &set->list[i], (set->cnt - i) * sizeof(set->list[0]));
	set->list[i] = *one;
	set->cnt++;
}

bool identities_has(const struct identities *set, int pid, uid_t uid, gid_t gid, __u32 said)
{
	for (unsigned i = first_of(set, pid); i < set->cnt && set->list[i].pid == pid; i++) {
		const struct identity *one = &set->list[i];

		if (one->uid == uid && one->gid == gid && one->said == said)
			return true;
	}
	return false;
}

void identities_foreign(struct identities *set, uid_t owner, bool doubt)
{
	set->owner.doubt |= doubt || (set->foreign && set->owner.uid != owner);
	set->foreign = true;
	set->owner.uid = owner;
	set->owner.gid = IDENTITY_NO_GROUP;
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

		if (one->doubt) {
			fprintf(out, "ids %d ?\n", one->pid);
			continue;
		}
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

		if (strncmp(text, "ids ", 4) || !take_id(&at, &pid))
			continue;
		one.pid = (int)pid;
		one.doubt = !strncmp(at, " ?", 2);
		if (!one.doubt && (!take_id(&at, &one.uid) || !take_id(&at, &one.gid)))
			continue;
		while (one.group_cnt < IDENTITY_GROUPS && take_id(&at, &one.groups[one.group_cnt]))
			one.group_cnt++;
		identities_add(set, &one);
	}
}
