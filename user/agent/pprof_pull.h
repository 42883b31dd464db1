/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof_pull.h - GET /debug/pprof/profile?seconds=N: what is sampled in the next N seconds, as pprof. So
 * "go tool pprof http://127.0.0.1:9464/debug/pprof/profile?seconds=10" works on a host with krait agent.
 *
 * pid=P and service=NAME take a part: a process, or all of a service.
 *
 * Must hold: each who asks has an answer, an error of one line if need be; PPROF_PULL_PLACES at a time. Who
 * asks when all places are taken has that of whoever has had the most seconds, if that is PPROF_PULL_OWN_SECONDS or more: a
 * few who ask for minutes, again and again, keep nobody out. What it has got so far is its answer, with its true duration.
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
/* Who asks at a time; the server lets more wait, so that one more is heard. */
#define PPROF_PULL_PLACES 8U

/* Both are borrowed. NULL when out of memory. */
struct pprof_pull *pprof_pull__new(struct server *server, struct resources *resources);
/* Those who wait are told that it is over. */
void pprof_pull__free(struct pprof_pull *p);
struct agent_sink pprof_pull__sink(struct pprof_pull *p);
/* Before the first sample: of the session. */
void pprof_pull__connect(struct pprof_pull *p, const struct profile *profile);
/* One that server__next() has given, of that path. */
void pprof_pull__take(struct pprof_pull *p, const struct server_request *request, __u64 now_ns);

#endif /* KRAIT_AGENT_PPROF_PULL_H */
