/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/admission.h"

#include <fcntl.h>

#include "record/anchors/anchor_thread.h"
#include "record/samples/own.h"
#include "record/follow/processes.h"
#include "process/probe/probed.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/text/log.h"

/*
 * Duplicates the descriptors that were opened when the process itself, not a parent, was
 * identified; another thread uses them. False: it is not identified yet, or not allowed.
 */
static bool open_process(const struct process *p, struct anchor_process *ret)
{
	const struct py_process *ids = p->probed ? probed__ids(p->probed, false) : NULL;
	int dir, mem;

	if (!ids || !ids->creds_digest || !ids->dumpable || probed__mem(p->probed) < 0)
		return false;
	/* Half one user and half another: who it will become is unknown. */
	if (ids->uid != ids->euid || ids->gid != ids->egid)
		return false;
	dir = fcntl(probed__dir(p->probed), F_DUPFD_CLOEXEC, 0);
	mem = fcntl(probed__mem(p->probed), F_DUPFD_CLOEXEC, 0);
	if (dir < 0 || mem < 0) {
		cleanup_close_(&dir);
		cleanup_close_(&mem);
		return false;
	}
	ret->creds_digest = ids->creds_digest;
	ret->dir = dir;
	ret->mem = mem;
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

	/* As long as this is not known: a later sample asks again. */
	if (p->own->offered || !t || (p->probed && probed__is_opening(p->probed)))
		return;
	p->own->offered = true;
	if (!py_process_has_anchors(&p->info))
		return;
	if (open_process(p, &process))
		anchor_thread__admit(t, &process);
	else
		log_debug("admission", "process %d gets full walks only: it may not be written to",
			  p->pid);
}
