/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place.h - puts a script where a process can read it: in a folder of its own below the process's
 * folder for temporary files, in the process's own root (container, chroot), beside a FIFO for the
 * script's report.
 *
 * A child makes everything as the process's user, without capabilities: anything that the process has
 * put in the way can only lead to things that this user could do himself. Nobody else may be able to
 * put another script there: every folder on the way belongs to root or that user, and either nobody
 * else can write to it or it is sticky.
 *
 * Must hold: no link is followed, nothing that exists is opened or replaced, no file system with a
 * server (FUSE, NFS) is touched; every wait is bounded.
 */
#ifndef KRAIT_LOOK_EXEC_PLACE_H
#define KRAIT_LOOK_EXEC_PLACE_H

#include <stdbool.h>

#include "look/exec/inject.h"
#include "look/exec/refusal.h"
#include "process/proc/proc.h"

struct place {
	int parent, folder; /* O_PATH; -1: none */
	int report; /* read end of the FIFO; -1: none */
	char path[SCRIPT_PATH_MAX]; /* of run.py, as the process sees it */
	/* the owner of it all: the process may have ended by the time of removal */
	struct proc_ids ids;
};
#define PLACE_NONE ((struct place){ .parent = -1, .folder = -1, .report = -1 })

/*
 * dir: of /proc/PID; script: open for reading, at its beginning. Returns 0 or the reason for
 * refusal; then nothing is left there.
 */
int place_make(struct place *p, int dir, const struct inject_request *r, int script,
	       struct refusal *why) __attribute__((warn_unused_result, nonnull));
/* Removes what the wrapper left, and closes. */
void place_remove(struct place *p) __attribute__((nonnull));

#endif /* KRAIT_LOOK_EXEC_PLACE_H */
