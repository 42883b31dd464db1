/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * identities.h - with whose rights the processes of a profile ran: what each of them could read
 * decides which of the files that it names krait shows (output/source_file.h).
 *
 * A pid has as many identities as its processes showed: a service that drops its rights has two.
 * Which of them a stack belongs to is not kept, so a file must be readable for all of them. What is
 * in doubt counts as everybody.
 */
#ifndef KRAIT_PROFILE_IDENTITIES_H
#define KRAIT_PROFILE_IDENTITIES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#define IDENTITY_GROUPS 32
/* Identities of one pid; one more counts as doubt. */
#define IDENTITIES_OF_PID 8
/* A group that nobody has. */
#define IDENTITY_NO_GROUP ((gid_t)-1)

struct identity {
	int pid;
	bool doubt; /* it may be anybody, or paths mean something else to it */
	uid_t uid; /* of the file system, by host ids */
	gid_t gid;
	unsigned group_cnt; /* those that are proved */
	gid_t groups[IDENTITY_GROUPS];
	__u32 said; /* for the caller: what it knew of the groups when it added this */
};

/* All zero: an empty set. */
struct identities {
	struct identity *list;
	unsigned cnt, cap;
	/*
	 * A capture says so itself. Then pages show only what everybody may read, because they are
	 * passed on.
	 */
	bool claimed;
	/* It belongs to somebody else: whatever it says, its processes were that user's. */
	bool foreign;
	struct identity owner; /* that user; in doubt if there are several */
};

void identities_free(struct identities *set);
/*
 * Duplicates are not added. If there is no room, what the pid could read is in doubt: the caller
 * need not care.
 */
void identities_add(struct identities *set, const struct identity *one);
/* Is there one with these ids for which the same was said? */
bool identities_has(const struct identities *set, int pid, uid_t uid, gid_t gid, __u32 said);
/* A capture belongs to that user, neither the caller nor root; doubt: to nobody in particular. */
void identities_foreign(struct identities *set, uid_t owner, bool doubt);
/* Removes all other pids; pids: in order. */
void identities_keep(struct identities *set, const int *pids, unsigned cnt);
/* The n-th identity of a pid, from 0; NULL: there are no more. */
const struct identity *identities_find(const struct identities *set, int pid, unsigned n);
bool identity_is_same(const struct identity *a, const struct identity *b);

/* Writes lines "ids PID UID GID GROUP...", or "ids PID ?" for doubt; reading ignores other lines. */
void identities_write(const struct identities *set, FILE *out);
void identities_read(struct identities *set, const char *text);

#endif /* KRAIT_PROFILE_IDENTITIES_H */
