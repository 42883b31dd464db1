/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * about.h - what a session knows about a tracked process, for whoever describes it to others, and
 * the claims that the process makes about itself, which a prober reads on request.
 */
#ifndef KRAIT_RECORD_RUN_ABOUT_H
#define KRAIT_RECORD_RUN_ABOUT_H

#include <linux/types.h>
#include <sys/types.h>

#include "process/probe/prober.h"

struct session;

/* Texts may contain any bytes. */
struct session_about {
	uid_t uid; /* effective; (uid_t)-1: unknown */
	__u32 version; /* PY_VERSION_HEX */
	char comm[16];
	char script[128]; /* or module; "": none */
	char container[CONTAINER_ID_MAX]; /* "": none */
	/* of a fork: who has executed the program that it runs; pid 0: itself */
	pid_t program_pid;
	__u32 program_image;
};

/* Returns 0; -ESRCH: not tracked, or it has another image by now. */
int session__about(struct session *s, pid_t pid, __u32 image, struct session_about *ret)
	__attribute__((warn_unused_result, nonnull));
/*
 * Asks for the process's struct claims (process/proc/claims.h); done is called as for prober__ask(), with
 * -ESTALE if it executes something else by now. Returns 0, or -errno: done will not be called.
 */
int session__ask_claims(struct session *s, pid_t pid, probe_done_fn done, void *ctx)
	__attribute__((warn_unused_result, nonnull));
/* The same for who has executed the program of a fork. */
int session__ask_program_claims(struct session *s, const struct session_about *about,
				probe_done_fn done, void *ctx)
	__attribute__((warn_unused_result, nonnull));
/* Build id of native code, by the name of its file; NULL if unknown. */
const __u8 *session__build_id(const struct session *s, const char *file, unsigned *ret_size);
/* No pending question calls back with that ctx from now on. */
void session__forget_claims(struct session *s, const void *ctx) __attribute__((nonnull));

#endif /* KRAIT_RECORD_RUN_ABOUT_H */
