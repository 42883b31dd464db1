/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * role.h - what a krait that was started as a worker becomes.
 *
 * main() asks role_find() first. A worker gives up what every role can do without before it reads its
 * first message: it cannot be traced or dumped, gains no rights by exec, ends with its starter, and
 * has only those capabilities that its starter had as well. What a role needs less than that, it
 * drops itself in serve().
 *
 * Must hold: whoever may execute krait may also start it under a role's name; where krait's file has
 * capabilities, such a worker has none that its starter did not have.
 */
#ifndef KRAIT_WORKER_ROLE_H
#define KRAIT_WORKER_ROLE_H

#include <stdbool.h>
#include <stddef.h>

/* argv[0] of a worker is this and the role's name. */
#define ROLE_PREFIX "krait-"
/* Its end of the channel. */
#define ROLE_CHANNEL_FD 3

struct role {
	const char *name;
	/* Answers messages until the channel closes. The exit code. */
	int (*serve)(int channel_fd);
	/*
	 * krait waits for its answers, which are quick: it keeps krait's priority (util/priority.h) until
	 * one is not. Others have the priority that krait was started with.
	 */
	bool urgent;
};

/* The role that argv0 names, or NULL. */
const struct role *role_find(const struct role *roles, size_t cnt, const char *argv0);

/* Becomes that role. The exit code of the process. */
int role_main(const struct role *role) __attribute__((nonnull));

#endif /* KRAIT_WORKER_ROLE_H */
