/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * served.h - which options of which commands krait broker takes, and up to what. One table for both sides: a client
 * says by name what is not served, and the broker believes no client.
 */
#ifndef KRAIT_CMD_BROKER_SERVED_H
#define KRAIT_CMD_BROKER_SERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cmd/broker/protocol.h"

/* Of one request. */
#define SERVED_PIDS_MAX 64
#define SERVED_RATE_MAX 1000
#define SERVED_SECONDS_MAX 3600

/* What the words of a request say, as far as the broker must know it. */
struct served {
	__u64 rate; /* samples a second on each CPU, of all its events; 0: it takes none */
	__u64 ring, unwind; /* bytes of the kernel's memory, at most */
	__u64 duration_ns; /* at most that long */
	bool limited; /* that is the service's limit: the client did not ask for less */
	pid_t pids[SERVED_PIDS_MAX];
	unsigned pid_cnt; /* 0: all of the user's */
	bool locals; /* values of variables are wanted */
	bool kernel; /* frames of the kernel were asked for */
	bool usual; /* a recording of processes with programs that most have: a spare's (spare.h) */
};

/* As krait COMMAND. */
const char *served_command(enum broker_command command);

/* Fills *ret from a request of a client's. Returns NULL, or why it is not served. */
const char *served_check(const struct broker_request *r, struct served *ret)
	__attribute__((warn_unused_result, nonnull));
/* The words one after the other: start with NULL. NULL: that was the last. */
const char *served_next(const struct broker_request *r, const char *word);

/*
 * For a client: adds "--option" or "--option=arg". Returns NULL if it is served, or is the client's own matter; else why
 * not, with the option's name.
 */
const char *served_add(struct broker_request *r, const char *option, const char *arg)
	__attribute__((warn_unused_result, nonnull(1, 2)));

#endif /* KRAIT_CMD_BROKER_SERVED_H */
