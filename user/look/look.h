/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look.h - a process as it is right now: its threads, what each does, and where it is in its code.
 *
 * Nothing is stopped. A thread that waits is walked from here, and believed only if it did not run
 * meanwhile (target/probe_threads.h); one that runs is walked by the kernel, in an interrupt of its own
 * (look/interrupts.h). A thread of which neither could be had has no stack, and says why.
 *
 * Must hold: a stack is one that the thread really had, at one moment; those of different threads are of
 * different moments, but where the process was paused for it.
 */
#ifndef KRAIT_LOOK_LOOK_H
#define KRAIT_LOOK_LOOK_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "follow/filter.h"
#include "look/look_join.h"
#include "look/look_thread.h"
#include "target/probe_threads.h"
#include "target/process.h"
#include "target/process_info.h"

struct core;
struct thread_filter;
struct probed;
struct prober;
struct still;

struct look_process {
	struct py_process process;
	struct process_info info;
	bool has_info;
	struct probed *probed; /* from look__take() on */
	struct look_tasks *tasks; /* set by the caller, freed with the process; NULL not wanted */
	struct core *core; /* borrowed; NULL: it is a process. Of a core file */
	struct look_join join; /* how its threads get their native frames, with still */
	int result; /* as py_process_identify(); process.why says more */
	struct look_thread *threads; /* by tid */
	__u32 thread_cnt, thread_cap;
	struct probe_interp *interps; /* by id */
	__u32 interp_cnt;
	__u64 pause_ns; /* with pause: for how long it stood still, at most, in */
	__u32 pause_cnt; /* so many pauses: one list of threads each */
	/* Set by the caller: */
	bool locals; /* wanted, of threads at rest */
	bool pause; /* all threads at one moment: they are stopped for it */
	struct still
		*still; /* borrowed; native frames are wanted, with pause or of a core. NULL not */
	const struct filter *filter; /* borrowed; NULL none */
	const struct thread_filter *thread; /* which threads; borrowed, NULL all */
	bool unwanted; /* the filter leaves it out */
	bool cut; /* it has more threads than are listed, or more variables than were taken */
};

/* Of one process that is looked at. NULL: out of memory. */
struct look_process *look__new(pid_t pid) __attribute__((warn_unused_result));
void look__free(struct look_process *p);

/*
 * Identifies the process, lists its threads and walks those that wait. 0, or why that cannot be done: as
 * py_process_identify(), -ETIMEDOUT reading it does not come back.
 */
int look__take(struct look_process *p, struct prober *prober)
	__attribute__((warn_unused_result, nonnull));
/*
 * A core file, which has been opened (core/core.h) and whose files have been given: process.pid is the caller's, too.
 * fds: of CORE_FILES_MAX files, the caller's; -1: not here, or another one. Of use for native frames only. As above.
 */
int look__take_core(struct look_process *p, struct core *core, const int *fds)
	__attribute__((warn_unused_result, nonnull));
/*
 * Of threads whose native frames were taken later: have they run since look__take()? Then their variables may be of
 * another moment, and are marked so.
 */
void look__check_locals(struct look_process *p) __attribute__((nonnull));
/* Variables of threads that run: of those frames of their stacks that they still have. */
void look__take_moving(struct look_process *p) __attribute__((nonnull));
/* The same program image again, for threads that have no stack yet. */
int look__again(struct look_process *p) __attribute__((warn_unused_result, nonnull));

/* It is not looked at any more: lets go of its descriptors. */
void look__let_go(struct look_process *p) __attribute__((nonnull));

/* Python threads of which there is no stack yet. */
__u32 look__missing(const struct look_process *p) __attribute__((nonnull));
/* Threads whose native frames are not there yet. */
__u32 look__unjoined(const struct look_process *p) __attribute__((nonnull));
/* Who has the GIL of that interpreter; NULL nobody, or it is not known. */
const struct look_thread *look__gil_holder(const struct look_process *p,
					   const struct probe_interp *i) __attribute__((nonnull));
/* The thread of that id, or NULL. */
struct look_thread *look__thread(struct look_process *p, pid_t tid) __attribute__((nonnull));

#endif /* KRAIT_LOOK_LOOK_H */
