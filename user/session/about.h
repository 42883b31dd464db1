/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * about.h - what a session knows of a tracked process, for whoever describes it to others; and what the process says of
 * itself, which a prober reads on request.
 */
#ifndef KRAIT_SESSION_ABOUT_H
#define KRAIT_SESSION_ABOUT_H

#include <linux/types.h>
#include <sys/types.h>

#include "target/prober.h"

struct session;

/* Texts may hold any bytes. */
struct session_about {
	uid_t uid; /* effective; (uid_t)-1 unknown */
	__u32 version; /* PY_VERSION_HEX */
	char comm[16];
	char script[128]; /* or module; "" none */
	char container[CONTAINER_ID_MAX]; /* "" none */
};

/* 0; -ESRCH: it is not tracked, or has another image by now. */
int session__about(struct session *s, pid_t pid, __u32 image, struct session_about *ret)
	__attribute__((warn_unused_result, nonnull));
/* Asks for its struct claims (target/claims.h); done as for prober__ask(). 0, or -errno: it will not be called. */
int session__ask_claims(struct session *s, pid_t pid, probe_done_fn done, void *ctx)
	__attribute__((warn_unused_result, nonnull));
/* Of native code, by the name of its file; NULL where it is not known. */
const __u8 *session__build_id(const struct session *s, const char *file, unsigned *ret_size);
/* Nobody is called with that ctx any more. */
void session__forget_claims(struct session *s, const void *ctx) __attribute__((nonnull));

#endif /* KRAIT_SESSION_ABOUT_H */
