/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * targets.h - the processes that the user named, and their existing children of any generation.
 * Each named one must exist and be a Python that krait supports, or be about to: just started, or
 * with such a child, as a shell, sudo or timeout has. A mistyped pid must not go unnoticed. Other
 * children may be anything: a shell may start Python later, and events report that.
 */
#ifndef KRAIT_RECORD_FOLLOW_TARGETS_H
#define KRAIT_RECORD_FOLLOW_TARGETS_H

#include "record/follow/processes.h"
#include "base/system/error.h"

/*
 * Follows them. Waits for debug information that has to be read first, and up to two seconds for
 * processes that have just been started; stops waiting when signal_fd is readable. Returns 0, or -1
 * and *err says which and why.
 */
int targets_follow(struct processes *processes, const pid_t pids[], size_t cnt, int signal_fd,
		   struct error *err);
/*
 * For processes that were looked at a moment ago: skips those that have ended since, or become
 * others. Returns 0, or -1 if none is left, and *err says why for the last one.
 */
int targets_follow_known(struct processes *processes, const pid_t pids[], size_t cnt, int signal_fd,
			 struct error *err);
/* Follows their existing children that are not followed yet. */
void targets_follow_children(struct processes *processes, const pid_t pids[], size_t cnt);

#endif /* KRAIT_RECORD_FOLLOW_TARGETS_H */
