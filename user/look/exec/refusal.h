/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * refusal.h - why we refuse to ask a process: a sentence for the user.
 */
#ifndef KRAIT_LOOK_EXEC_REFUSAL_H
#define KRAIT_LOOK_EXEC_REFUSAL_H

#include <stddef.h>

struct refusal {
	char why[256];
};

/* Fills *r and returns -errnum. */
int refuse(struct refusal *r, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* dir: of /proc/PID. Says what has turned off remote debugging there. Returns -ENOTSUP. */
int refuse_disabled(struct refusal *r, int dir);
/*
 * For a process that could not be stopped: err is frozen_run()'s. Names the tracer, if any. Returns
 * err.
 */
int refuse_stop(struct refusal *r, int dir, int err);

#endif /* KRAIT_LOOK_EXEC_REFUSAL_H */
