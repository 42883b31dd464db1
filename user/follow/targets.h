/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * targets.h - the processes that the user named, and their children of any generation that are there
 * already. Each named one must be there and be a Python that krait knows, or be on the way to it: have just
 * been started, or have such a child, as a shell, sudo or timeout has. A mistyped pid must not go
 * unnoticed. Other children may be what they are: a shell may start one later, and events tell.
 */
#ifndef KRAIT_FOLLOW_TARGETS_H
#define KRAIT_FOLLOW_TARGETS_H

#include "follow/processes.h"
#include "util/error.h"

/*
 * Follows them. Where debug information has to be read first, it waits until it has been, and up to two
 * seconds for what has just been started; not when signal_fd is readable. 0, or -1 and *err says which and why.
 */
int targets_follow(struct processes *processes, const pid_t pids[], size_t cnt, int signal_fd,
		   struct error *err);
/*
 * Of processes that were looked at a moment ago: one that has ended since, or become another, is passed over. 0, or -1
 * where none is left, and *err says why the last one is not.
 */
int targets_follow_known(struct processes *processes, const pid_t pids[], size_t cnt, int signal_fd,
			 struct error *err);
/* Follows those children of theirs that are there and are not followed yet. */
void targets_follow_children(struct processes *processes, const pid_t pids[], size_t cnt);

#endif /* KRAIT_FOLLOW_TARGETS_H */
