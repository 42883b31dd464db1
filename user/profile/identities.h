/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * identities.h - who the processes of a profile were: what each of them could read decides which of
 * the files that it names krait shows (emit/source_file.h).
 *
 * Contains only processes for which paths mean the same as here. A pid that several processes had
 * has the identities of all of them.
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
	uid_t uid; /* effective, by host ids */
	gid_t gid;
	unsigned group_cnt;
	gid_t groups[IDENTITY_GROUPS];
};

/* All zero: an empty set. */
struct identities {
	struct identity *list;
	unsigned cnt, cap;
};

void identities_free(struct identities *set);
/*
 * Duplicates are not added. If there is no room the identity stays unknown: the caller need not
 * care.
 */
void identities_add(struct identities *set, const struct identity *one);
/* Removes all other pids; pids: in order. */
void identities_keep(struct identities *set, const int *pids, unsigned cnt);
/* The n-th identity of a pid, from 0; NULL: there are no more. */
const struct identity *identities_find(const struct identities *set, int pid, unsigned n);
bool identity_is_same(const struct identity *a, const struct identity *b);

/* Writes lines "ids PID UID GID GROUP..."; reading ignores other lines. */
void identities_write(const struct identities *set, FILE *out);
void identities_read(struct identities *set, const char *text);

#endif /* KRAIT_PROFILE_IDENTITIES_H */
