/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_greenlets.h - all greenlets of a process as they are now, in the same form as the list of
 * its asyncio tasks (probe_tasks.h): a greenlet is awaited by its parent, to which control goes
 * when it ends. Dead ones are left out, and a running one has no frames of its own: they are its
 * thread's.
 *
 * They are found through the garbage collector, and read as far as their layout can be proved
 * (greenlet_layout.h). Nothing holds still meanwhile: a greenlet that was switched to while its
 * frames were read is read again, and if that keeps failing marked (TASK_TORN).
 *
 * Must hold: as in probe_tasks.h.
 */
#ifndef KRAIT_PROCESS_PROBE_PROBE_GREENLETS_H
#define KRAIT_PROCESS_PROBE_PROBE_GREENLETS_H

#include "process/probe/probe_tasks.h"

/*
 * In a prober. dir: of /proc/PID; mem: its memory. Returns a descriptor of the list
 * (probe_tasks_read()); -ENOENT: greenlet is not loaded; -EPROTONOSUPPORT: its layout could not be
 * proved; -EXFULL: a free-threaded build, where they cannot be found; -errno.
 */
int probe_greenlets_list(int dir, int mem, const struct probe_tasks_ask *ask)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_PROBE_PROBE_GREENLETS_H */
