/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * role.h - what a krait process that was started as a worker becomes.
 *
 * main() calls role_find() first. Before it reads its first message, a worker gives up what no role
 * needs: it cannot be traced or dumped, gains no rights by exec, ends with its starter, and has
 * only capabilities that its starter had too. A role that needs even less drops more in serve().
 *
 * Must hold: anyone who may execute krait may also start it under a role's name. If krait's file
 * has capabilities, such a worker gets none that its starter did not have.
 */
#ifndef KRAIT_BASE_WORKER_ROLE_H
#define KRAIT_BASE_WORKER_ROLE_H

#include <stdbool.h>
#include <stddef.h>

/* A worker's argv[0] is this plus the role's name. */
#define ROLE_PREFIX "krait-"
/* The worker's end of the channel. */
#define ROLE_CHANNEL_FD 3
/* A prober's opener (process/memory/opener.h), if krait has one. */
#define ROLE_OPENER_FD 4

/* Its second argument, if it is started before it is known whose it is (worker_start_ahead()); likewise, with a parser. */
#define ROLE_AHEAD "--ahead"
#define ROLE_AHEAD_PARSES "--ahead-parses"

struct role {
	const char *name;
	/* Answers messages until the channel closes. Returns the exit code. */
	int (*serve)(int channel_fd);
	/*
	 * krait waits for its quick answers: the worker keeps krait's priority (base/system/priority.h)
	 * until one takes too long. Others have the priority that krait was started with.
	 */
	bool urgent;
	void (*prepare)(void); /* what can be done before it is known whose it is; NULL: nothing */
};

/* Returns the role that argv0 names; NULL: none. */
const struct role *role_find(const struct role *roles, size_t cnt, const char *argv0);

/* Runs that role. Returns the process's exit code. */
int role_main(const struct role *role) __attribute__((nonnull));
/* The same for one that first hears whose it is; word: which of the two. */
int role_main_ahead(const struct role *role, const char *word) __attribute__((nonnull));

#endif /* KRAIT_BASE_WORKER_ROLE_H */
