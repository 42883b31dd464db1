/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * targets.h - the processes that the user named, and their children of any generation that are there
 * already. Each named one must be there and be a Python that krait knows: a mistyped pid must not go
 * unnoticed. Of the children those count that are Python; what starts later, events tell.
 */
#ifndef KRAIT_SESSION_TARGETS_H
#define KRAIT_SESSION_TARGETS_H

#include "session/processes.h"
#include "util/error.h"

/*
 * Follows them. Where debug information has to be read first: until it has been, or signal_fd is
 * readable; with -1 it is read while others are sampled. 0, or -1 and *err says which and why.
 */
int targets_follow(struct processes *processes, const pid_t pids[], size_t cnt, int signal_fd,
		   struct error *err);

#endif /* KRAIT_SESSION_TARGETS_H */
