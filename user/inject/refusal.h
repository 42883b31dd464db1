/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * refusal.h - why nothing is asked of a process: a sentence for the user.
 */
#ifndef KRAIT_INJECT_REFUSAL_H
#define KRAIT_INJECT_REFUSAL_H

#include <stddef.h>

struct refusal {
	char why[256];
};

/* Fills it in; returns -errnum. */
int refuse(struct refusal *r, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* dir: of /proc/PID. Who or what has turned remote debugging off there; -ENOTSUP. */
int refuse_disabled(struct refusal *r, int dir);
/* Stopping it did not work: err of frozen_run(). Who traces it? err. */
int refuse_stop(struct refusal *r, int dir, int err);

#endif /* KRAIT_INJECT_REFUSAL_H */
