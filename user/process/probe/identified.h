/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * identified.h - one process, identified by a prober and held: for commands that look at few
 * processes and have time to wait for each.
 */
#ifndef KRAIT_PROCESS_PROBE_IDENTIFIED_H
#define KRAIT_PROCESS_PROBE_IDENTIFIED_H

#include "process/probe/probed.h"

/* The content of one answer. */
struct identified {
	struct py_process process; /* the caller sets pid; on failure why is always a sentence */
	bool has_info, has_context;
	struct process_info info;
	struct context context;
	char cgroups[CGROUP_TEXT_MAX];
};

/*
 * Asks and waits, also for debug information that has to be read first. Returns 0 and *ret_probed,
 * owned by the caller; as py_process_identify_fds(); -ETIMEDOUT: reading it hangs, or takes
 * too long; -ENOMEM.
 */
int identified_wait(struct prober *prober, struct identified *ret, struct probed **ret_probed)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_PROBE_IDENTIFIED_H */
