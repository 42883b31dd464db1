/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look.h - a process as it is right now: its threads, what each is doing, and where it is in its
 * code.
 *
 * Nothing is stopped. A waiting thread is walked from user space, and the stack is valid only if
 * the thread did not run meanwhile (process/probe/probe_threads.h); the kernel walks a running thread, in
 * an interrupt of its own (look/dump/interrupts.h). A thread for which neither worked has no stack, and
 * says why.
 *
 * Must hold: a stack is one that the thread really had, at one moment; stacks of different threads
 * are of different moments, unless the process was paused.
 */
#ifndef KRAIT_LOOK_DUMP_LOOK_H
#define KRAIT_LOOK_DUMP_LOOK_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "record/follow/filter.h"
#include "look/dump/look_thread.h"
#include "base/text/mentions.h"
#include "process/probe/probe_threads.h"
#include "process/identify/py_process.h"
#include "process/proc/process_info.h"

struct core;
struct thread_filter;
struct probed;
struct prober;
struct still;
struct still_process;

struct look_process {
	struct py_process process;
	struct process_info info;
	bool has_info;
	struct probed *probed; /* set by look__take() */
	struct look_tasks *tasks; /* set by the caller, freed with the process; NULL: not wanted */
	struct core *core; /* borrowed; for a core file. NULL: it is a process */
	struct still_process *named; /* names its threads' stacks; NULL: not open */
	int result; /* as py_process_identify_fds(); process.why has the details */
	struct look_thread *threads; /* by tid */
	__u32 thread_cnt, thread_cap;
	struct probe_interp *interps; /* by id */
	__u32 interp_cnt;
	__u64 pause_ns; /* with pause: an upper bound of how long it stood still, in */
	__u32 pause_cnt; /* that many pauses: one per list of threads */
	/* Set by the caller: */
	bool locals; /* wanted, for threads at rest */
	bool pause; /* all threads at the same moment: stops them */
	struct still *still; /* borrowed; with native frames only if pause, or of a core */
	const struct filter *filter; /* borrowed; NULL: none */
	const struct thread_filter *thread; /* which threads; borrowed, NULL: all */
	bool unwanted; /* excluded by the filter */
	struct strtab strings; /* texts of its threads and tasks */
	struct mentions others; /* threads that are not wanted */
	bool cut; /* there are more threads, or variables, than were taken */
};

/* For one process. NULL: out of memory. */
struct look_process *look__new(pid_t pid) __attribute__((warn_unused_result));
void look__free(struct look_process *p);

/*
 * Identifies the process, lists its threads and walks the waiting ones. Returns 0, or why that
 * failed: as py_process_identify_fds(); -ETIMEDOUT: reading it hangs.
 */
int look__take(struct look_process *p, struct prober *prober)
	__attribute__((warn_unused_result, nonnull));
/*
 * The same for an open core file (look/core/core.h) whose files have been given; the caller also sets
 * process.pid. fds: of CORE_FILES_MAX files, owned by the caller; -1: not available, or a different
 * file. They serve native frames only.
 */
int look__take_core(struct look_process *p, struct core *core, const int *fds)
	__attribute__((warn_unused_result, nonnull));
/*
 * For threads whose native frames were taken later: have they run since look__take()? Then their
 * variables may be of another moment, and are marked so.
 */
void look__check_locals(struct look_process *p) __attribute__((nonnull));
/* Takes variables of threads that moved when they were to be read: of those frames of their stacks that still exist. */
void look__take_moving(struct look_process *p) __attribute__((nonnull));
/* Looks at the same program image again, for threads that have no stack yet. */
int look__again(struct look_process *p) __attribute__((warn_unused_result, nonnull));

/* Closes its descriptors: it will not be looked at any more. */
void look__let_go(struct look_process *p) __attribute__((nonnull));

/* Python threads without a stack so far. */
__u32 look__missing(const struct look_process *p) __attribute__((nonnull));
/* Threads without native frames so far. */
__u32 look__unjoined(const struct look_process *p) __attribute__((nonnull));
/* The thread that holds that interpreter's GIL; NULL: nobody, or unknown. */
const struct look_thread *look__gil_holder(const struct look_process *p,
					   const struct probe_interp *i) __attribute__((nonnull));
/* What it is called (python/values/thread_names.h): any bytes. */
const char *look__thread_name(const struct look_process *p, const struct look_thread *t)
	__attribute__((nonnull));
/* The thread with that id, or NULL. */
struct look_thread *look__thread(struct look_process *p, pid_t tid) __attribute__((nonnull));

#endif /* KRAIT_LOOK_DUMP_LOOK_H */
