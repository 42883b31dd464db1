/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * identities.h - whose the processes of a profile were: what each of them could read decides what
 * krait shows of the files that it names (emit/source_file.h).
 *
 * Only of processes whose paths mean here what they meant there. A pid that several processes had
 * has the identities of all.
 */
#ifndef KRAIT_PROFILE_IDENTITIES_H
#define KRAIT_PROFILE_IDENTITIES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#define IDENTITY_GROUPS 32

struct identity {
	int pid;
	uid_t uid; /* effective ones, by host ids */
	gid_t gid;
	unsigned group_cnt;
	gid_t groups[IDENTITY_GROUPS];
};

/* All zero is an empty set. */
struct identities {
	struct identity *list;
	unsigned cnt, cap;
};

void identities_free(struct identities *set);
/* One that is there already is not added again. What finds no room is unknown: the caller need not care. */
void identities_add(struct identities *set, const struct identity *one);
/* Those of other pids than these go; pids: in order. */
void identities_keep(struct identities *set, const int *pids, unsigned cnt);
/* The n-th of a pid, from 0; NULL when there are no more. */
const struct identity *identities_find(const struct identities *set, int pid, unsigned n);
bool identity_is_same(const struct identity *a, const struct identity *b);

/* Lines "ids PID UID GID GROUP..."; others are left to others. */
void identities_write(const struct identities *set, FILE *out);
void identities_read(struct identities *set, const char *text);

#endif /* KRAIT_PROFILE_IDENTITIES_H */
