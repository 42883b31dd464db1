/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/admission.h"

#include "session/anchor_thread.h"
#include "session/processes.h"
#include "util/clock.h"
#include "util/log.h"

/* Of the process itself, not of one that it was forked from. False: not known, or not allowed. */
static bool open_process(const struct process *p, struct anchor_process *ret)
{
	struct py_process_fds fds = PY_PROCESS_NO_FDS;
	struct py_process ids = { 0 };

	if (py_process_open(p->pid, &ids, &fds) ||
	    !same_start(ids.start_ticks * KRAIT_NS_PER_TICK, p->start_ns) || !ids.creds_digest ||
	    fds.mem < 0) {
		py_process_fds_close(&fds);
		return false;
	}
	ret->creds_digest = ids.creds_digest;
	ret->dir = fds.dir;
	ret->mem = fds.mem;
	return true;
}

void admission_offer(struct anchor_thread *t, struct process *p)
{
	struct anchor_process process = {
		.pid = p->pid,
		.start_ns = p->start_ns,
		.since_ns = clock_monotonic_ns(),
		.offsets = p->info.offsets,
	};

	if (p->offered || !t)
		return;
	p->offered = true;
	if (!py_process_has_anchors(&p->info))
		return;
	if (open_process(p, &process))
		anchor_thread__admit(t, &process);
	else
		log_debug("admission", "process %d gets full walks only: it may not be written to",
			  p->pid);
}
