/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trim.h - keeps the dictionary small while processes come and go for hours: counts of ended
 * processes move to one process "[ended]", stack by stack, and what nobody counts any more is
 * forgotten.
 *
 * Must hold: no sum by function, line or state changes. Processes with samples in the kept rounds
 * stay.
 */
#ifndef KRAIT_CMD_TOP_TRIM_H
#define KRAIT_CMD_TOP_TRIM_H

#include <stdbool.h>

#include "cmd/top/samples.h"

/* Tells whether a process (tid 0) or one of its threads still exists. */
typedef bool (*trim_alive_fn)(void *ctx, int pid, int tid);

#define NAME_ENDED "[ended]"

/*
 * Also restarts the session's own counts. Ids change. Returns 0, or dict__forget()'s error with no
 * figure changed.
 */
int trim(struct samples *s, struct profile *session, trim_alive_fn alive, void *ctx)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CMD_TOP_TRIM_H */
