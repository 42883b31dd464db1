/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof_pull.h - GET /debug/pprof/profile?seconds=N: what is sampled in the next N seconds, as
 * pprof. So "go tool pprof http://127.0.0.1:9464/debug/pprof/profile?seconds=10" works on a host
 * with krait agent.
 *
 * pid=P and service=NAME select a part: a process, or all of a service.
 *
 * Must hold: each client gets an answer, if need be an error of one line; there are
 * PPROF_PULL_PLACES at a time. A client that comes when all places are taken gets that of whoever
 * has had the most seconds, if that is PPROF_PULL_OWN_SECONDS or more: so a few clients that keep
 * asking for minutes cannot keep others out. The displaced client's answer is what there is so far,
 * with its true duration.
 */
#ifndef KRAIT_AGENT_PPROF_PULL_H
#define KRAIT_AGENT_PPROF_PULL_H

#include <linux/types.h>

#include "agent/sink.h"

struct pprof_pull;
struct resources;
struct server;
struct server_request;

#define PPROF_PULL_PATH "/debug/pprof/profile"
#define PPROF_PULL_SECONDS_MAX 300U
#define PPROF_PULL_OWN_SECONDS 5U
/* Clients at a time; the server lets more wait, so one more can still be heard. */
#define PPROF_PULL_PLACES 8U

/* Both are borrowed. NULL when out of memory. */
struct pprof_pull *pprof_pull__new(struct server *server, struct resources *resources);
/* Waiting clients are told that it is over. */
void pprof_pull__free(struct pprof_pull *p);
struct agent_sink pprof_pull__sink(struct pprof_pull *p);
/* Call before the first sample: the session's profile. */
void pprof_pull__connect(struct pprof_pull *p, const struct profile *profile);
/* Takes a request from server__next() for that path. */
void pprof_pull__take(struct pprof_pull *p, const struct server_request *request, __u64 now_ns);

#endif /* KRAIT_AGENT_PPROF_PULL_H */
