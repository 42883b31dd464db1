/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * name_watch.h - learns the names that programs give their threads, apart from their samples: a
 * prober reads them a moment after a thread was first sampled, and again, with growing pauses, as
 * long as it goes on to be sampled. A thread that does not run keeps its name.
 *
 * Before 3.14 the kernel does not get these names, and later only their first 15 bytes.
 *
 * Must hold: at most one look at a process is pending; the CPU time that looks at one owner's
 * processes (bpf/share.h) take is bounded, and they share it in turn.
 */
#ifndef KRAIT_RECORD_FOLLOW_NAME_WATCH_H
#define KRAIT_RECORD_FOLLOW_NAME_WATCH_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "record/follow/threads.h"
#include "bpf/share.h"
#include "process/probe/probe_names.h"
#include "base/share/allowance.h"

struct process;
struct processes;
struct record_sample;

/* Pauses before a look: of new threads, up to those whose names do not change. */
#define NAME_PAUSES 8

/* What a process has. All zero initially. */
struct name_watch {
	/* threads to look at next, and those of the pending look; initialised once begun */
	struct thread_waiting waiting, in_question;
	bool begun;
	bool asked; /* a look is pending */
	bool queued;
	bool renames; /* a thread of it had another name before */
	__u8 pause; /* before the next look */
	__u64 due_ns; /* while queued */
	__u64 rested_ns; /* no look for new threads before */
	struct probe_names_place places[PROBE_NAMES_INTERPS];
	TAILQ_ENTRY(name_watch) queue;
};
TAILQ_HEAD(name_queue, name_watch);

/* What all processes have together: in each queue, the first is due first. */
struct name_watches {
	struct name_queue queues[NAME_PAUSES];
	struct allowance budgets[OWNER_CNT]; /* microseconds of CPU time */
	unsigned asked_cnt; /* pending looks */
};
void name_watches_init(struct name_watches *w);

/* The process is tracked now. parent: for a fork, the process whose memory it has; else NULL. */
void name_watch_begin(struct processes *ps, struct process *p, const struct process *parent);
/* The thread was sampled. */
void name_watch_sampled(struct processes *ps, struct thread *t, const struct record_sample *record);
/* The thread goes. */
void name_watch_thread_gone(struct thread *t);
/* Looks if it is time. Returns when it will be; 0: never. */
__u64 name_watch_step(struct processes *ps, __u64 now_ns);
/* Looks now, if a thread has been sampled since the last look, and none is pending. */
void name_watch_look(struct processes *ps, struct process *p);
/*
 * The samples of a thread are wanted or not according to its name: learns it now, unless it was
 * looked for a few times in vain. Waits a moment for the answer.
 */
void name_watch_await(struct processes *ps, struct thread *t);
/* The process has another image, or has gone: forgets everything. */
void name_watch_forget(struct processes *ps, struct process *p);

#endif /* KRAIT_RECORD_FOLLOW_NAME_WATCH_H */
