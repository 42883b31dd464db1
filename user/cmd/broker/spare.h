/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spare.h - a recorder that has loaded its programs, and waits for somebody to record for: "krait --spare record ...".
 *
 * It is root's, with the broker's rights, attaches nothing, and knows of no client. What it hears first makes it the
 * recorder of one client (recorder.h), for good; it loads other programs if that client's options need them.
 *
 * Programs are bound to their maps when they are loaded: to share them would be to share the maps, and with them each
 * user's processes, tables and samples. So what a recording gets is a set of its own that was loaded beforehand.
 *
 * Must hold: the client's ids are taken before anything of the client's is looked at.
 */
#ifndef KRAIT_CMD_BROKER_SPARE_H
#define KRAIT_CMD_BROKER_SPARE_H

#include <stdbool.h>
#include <sys/types.h>

#include "cmd/broker/recorder.h"

/* The broker's; one that ends is ours until it is reaped. */
struct spare {
	pid_t pid; /* 0: none */
	int pidfd; /* -1: none */
	int fd; /* -1: it ends */
	bool ready; /* its programs are loaded */
};

#define SPARE_NONE ((struct spare){ .pidfd = -1, .fd = -1 })

/* kernel: with frames of the kernel. Returns 0 or -errno. */
int spare_start(struct spare *s, bool kernel) __attribute__((warn_unused_result));
/* What the broker waits for; -1: nothing. */
int spare_fd(const struct spare *s);
/* When that is readable. False: it has ended by itself. */
bool spare_hear(struct spare *s);
void spare_end(struct spare *s);
/*
 * Makes it the recorder of a client; then *ret is what recorder_start() makes, and *s is none. began_fd: as for
 * recorder_start(), the caller's. False: it cannot be.
 */
bool spare_give(struct spare *s, const struct recorder_job *job, int began_fd,
		struct recorder *ret);

/* In the spare: fills the command line of a recorder. Returns 0; -1: the broker has not started this process. */
int spare_serve(int *argc, char ***argv);

#endif /* KRAIT_CMD_BROKER_SPARE_H */
