/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * resources.h - who the sampled processes are, as attributes of OpenTelemetry resources: what the
 * kernel says, and, marked as such (krait.claimed), what they say about themselves in their
 * environment.
 *
 * A service's name is the one that it claims, else that of its systemd unit if it is not in a
 * container, else that of its script, its module or its command.
 *
 * Must hold: nothing here waits for a process except for its context, as names do; claims about its
 * pid, container, pod or host are dropped; memory is bounded, also per user.
 */
#ifndef KRAIT_AGENT_RESOURCES_H
#define KRAIT_AGENT_RESOURCES_H

#include <linux/types.h>
#include <sys/utsname.h>

#include "output/otlp/otlp.h"
#include "record/run/session.h"
#include "process/proc/claims.h"

/* Processes known at a time: of all users, and per user. */
#define RESOURCES_MAX 8192U
#define RESOURCES_USER_MAX 2048U

struct resources;

/* The machine that krait runs on. */
struct host {
	struct utsname uts;
	char id[33]; /* from /etc/machine-id; "": none */
};

void host_read(struct host *ret) __attribute__((nonnull));

struct resources_stats {
	unsigned known; /* now */
	__u64 refused; /* for lack of room: they have only a pid */
	__u64 claims_refused; /* keys that a process may not claim, and malformed attributes */
};

/* NULL: out of memory. host: borrowed. */
struct resources *resources__new(const struct host *host);
/* Call before the first sample: whom to ask. Borrowed. */
void resources__connect(struct resources *r, struct session *session);
/* The build id of a file with native code, in hex; false if unknown. */
bool resources__build_id(const struct resources *r, const char *file, char *buf, size_t size);
void resources__free(struct resources *r);

/* A sample of the process has come: from now on it is known. */
void resources__meet(struct resources *r, int pid, __u32 image);
/* Valid until the next call of any of these. */
struct otlp_attributes resources__of(struct resources *r, int pid, __u32 image);
/* The agent's own, for what concerns no process. As above. */
struct otlp_attributes resources__own(struct resources *r);
/*
 * "billing-api": never empty; printable. As above. *ret_uid: whose the process is, (uid_t)-1 unknown;
 * *ret_claimed: it claims the name itself. Both may be NULL.
 */
const char *resources__service(struct resources *r, int pid, __u32 image, uid_t *ret_uid,
			       bool *ret_claimed);
/*
 * The user of a process, by its latest image, and whether it claims the name of its service itself.
 * False: the process is unknown.
 */
bool resources__whose(const struct resources *r, int pid, __u32 *ret_uid, bool *ret_claimed);
/* A window has ended: forgets processes that had no sample for some windows. */
void resources__end_window(struct resources *r);
/* Calls fn for each known process, with its PY_VERSION_HEX; 0 unknown. */
void resources__each_version(const struct resources *r, void (*fn)(void *ctx, __u32 version),
			     void *ctx);
void resources__stats(const struct resources *r, struct resources_stats *ret);

#endif /* KRAIT_AGENT_RESOURCES_H */
