/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * callers.h - how often the server may be called: by one caller in the network, and by all
 * together, since whoever can reach it decides how many calls come.
 *
 * A caller is a user of this machine, or an address. A call is a connection or a request. A caller who calls too often is refused, which costs
 * little. If even that is too much, nothing is read from the network for a while: the kernel lets
 * some connections wait, and drops the rest.
 *
 * Must hold: what the server costs is bounded, whoever calls; who calls rarely is not refused
 * because others call often.
 */
#ifndef KRAIT_AGENT_SERVE_CALLERS_H
#define KRAIT_AGENT_SERVE_CALLERS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/share/allowance.h"

/* Callers share a bucket by a hash with a seed of its own. */
#define CALLERS_BUCKETS 256U
/* Calls of one caller at once, and a second. */
#define CALLERS_AT_ONCE 200U
#define CALLERS_PER_SEC 100U
/*
 * Of all: in units of some 20 us of CPU time. A call takes 5 of them, a refusal one. So the server
 * costs some two percent of a CPU at most.
 */
#define CALLERS_CALL 5U
#define CALLERS_UNITS_AT_ONCE 4000U
#define CALLERS_UNITS_PER_SEC 1000U

struct callers {
	struct allowance all, each[CALLERS_BUCKETS];
	__u32 seed;
	int diag; /* asks the kernel whose a local connection is; < 0: nobody can be asked */
};

/* Opens its socket, which lives as long as the process. */
void callers_init(struct callers *c) __attribute__((nonnull));
/* The bucket of who has connected from that address to a port of ours. */
unsigned callers_find(const struct callers *c, const struct sockaddr *address, socklen_t len,
		      unsigned port) __attribute__((nonnull));
/* Takes a call. False: refuse it. */
bool callers_take(struct callers *c, unsigned bucket) __attribute__((nonnull));
/* May anything be read from the network now? */
bool callers_may_call(struct callers *c) __attribute__((nonnull));
/* Milliseconds until then. */
__u64 callers_pause_ms(const struct callers *c) __attribute__((nonnull));

#endif /* KRAIT_AGENT_SERVE_CALLERS_H */
