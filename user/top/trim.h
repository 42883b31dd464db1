/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trim.h - keeps the dictionary small while processes come and go for hours: what was counted of those that
 * have ended goes to one process, "[ended]", stack by stack, and what nobody counts any more is forgotten.
 *
 * Must hold: no sum by function, line or state changes. Processes with samples in the rounds that are kept
 * stay.
 */
#ifndef KRAIT_TOP_TRIM_H
#define KRAIT_TOP_TRIM_H

#include <stdbool.h>

#include "top/samples.h"

/* Of a process (tid 0), or one of its threads: is it there still? */
typedef bool (*trim_alive_fn)(void *ctx, int pid, int tid);

#define NAME_ENDED "[ended]"

/*
 * The session's own counts begin anew. 0 or a negative error of dict__forget(), when no figure has changed;
 * ids are others afterwards.
 */
int trim(struct samples *s, struct profile *session, trim_alive_fn alive, void *ctx)
	__attribute__((warn_unused_result));

#endif /* KRAIT_TOP_TRIM_H */
