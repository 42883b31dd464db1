/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * filter.h - which Python processes of the machine are wanted: by name, control group, user.
 *
 * Several values of one kind are alternatives; all given kinds must match. A process is matched at
 * its exec, or when it is first seen: a name that it gives itself later does not count. A forked
 * child inherits its parent's result. Only its user may change: the kernel says with each sample
 * whose it is (sampler_config.users), so a process that matches otherwise is not given up.
 */
#ifndef KRAIT_RECORD_FOLLOW_FILTER_H
#define KRAIT_RECORD_FOLLOW_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct context;

#define FILTER_MAX 16

struct filter {
	/* Names or patterns (base/text/pattern.h) for the command, the script's file name or path, or the module. */
	const char *names[FILTER_MAX];
	const char *cgroups[FILTER_MAX]; /* these groups and all below */
	uid_t users[FILTER_MAX]; /* of the file system: the effective ones */
	size_t name_cnt, cgroup_cnt, user_cnt;
};

static inline bool filter_is_empty(const struct filter *f)
{
	return !f->name_cnt && !f->cgroup_cnt && !f->user_cnt;
}

/*
 * Is the process wanted? context: NULL if it has gone before it could be read, which leaves only
 * its command; cgroups: the text of its /proc/PID/cgroup.
 */
bool filter_matches(const struct filter *f, const char *comm, const struct context *context,
		    const char *cgroups) __attribute__((nonnull(1, 2)));
/* Does only its user not match? */
bool filter_awaits(const struct filter *f, const char *comm, const struct context *context,
		   const char *cgroups) __attribute__((nonnull(1, 2)));
bool filter_wants_user(const struct filter *f, uid_t uid) __attribute__((nonnull));

#endif /* KRAIT_RECORD_FOLLOW_FILTER_H */
