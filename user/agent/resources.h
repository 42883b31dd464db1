/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * resources.h - who the sampled processes are, as attributes of OpenTelemetry's resources: what the kernel says, and,
 * marked as such (krait.claimed), what they say of themselves in their environment.
 *
 * A service's name is the one that it claims, else that of its unit of systemd where it is in no container, else that
 * of its script, its module or its command.
 *
 * Must hold: nothing here waits for a process but for its context, as names do; what it claims about its number,
 * its container, its pod or its host is dropped; memory is bounded, for each user too.
 */
#ifndef KRAIT_AGENT_RESOURCES_H
#define KRAIT_AGENT_RESOURCES_H

#include <linux/types.h>

#include "agent/host.h"
#include "emit/otlp.h"
#include "session/session.h"
#include "target/claims.h"

/* Processes that are known at a time: of all users, and of one. */
#define RESOURCES_MAX 8192U
#define RESOURCES_USER_MAX 2048U

struct resources;

struct resources_stats {
	unsigned known; /* now */
	__u64 refused; /* for want of room: they have a pid and nothing else */
	__u64 claims_refused; /* keys that are not a process's to say, and texts that are no attributes */
};

/* NULL: out of memory. host: borrowed. */
struct resources *resources__new(const struct host *host);
/* Before the first sample: whom to ask. Borrowed. */
void resources__connect(struct resources *r, struct session *session);
/* Of a file with native code, in hex; false where it is not known. */
bool resources__build_id(const struct resources *r, const char *file, char *buf, size_t size);
void resources__free(struct resources *r);

/* A sample of it has come: from now on it is known. */
void resources__meet(struct resources *r, int pid, __u32 image);
/* Good until the next call of any of these. */
struct otlp_attributes resources__of(struct resources *r, int pid, __u32 image);
/* Of the agent itself, for what is said of no process. As above. */
struct otlp_attributes resources__own(struct resources *r);
/* "billing-api": never empty; printable. As above. */
const char *resources__service(struct resources *r, int pid, __u32 image);
/* A window is over: those that were not met for some are forgotten. */
void resources__end_window(struct resources *r);
/* Calls fn for each process that is known, with its PY_VERSION_HEX; 0 unknown. */
void resources__each_version(const struct resources *r, void (*fn)(void *ctx, __u32 version),
			     void *ctx);
void resources__stats(const struct resources *r, struct resources_stats *ret);

#endif /* KRAIT_AGENT_RESOURCES_H */
