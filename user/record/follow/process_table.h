/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process_table.h - the table of followed processes, which processes.c owns and asks: what an entry
 * has, from the first sight of a process to its end. process_events.c changes the table as the
 * kernel reports events, process_looks.c by the results of looks; due_looks.c says when looks are
 * due.
 */
#ifndef KRAIT_RECORD_FOLLOW_PROCESS_TABLE_H
#define KRAIT_RECORD_FOLLOW_PROCESS_TABLE_H

#include <sys/queue.h>
#include <uthash.h>

#include "record/follow/processes.h"
#include "record/follow/refusals.h"
#include "bpf/share.h"
#include "python/code/name_share.h"
#include "base/share/allowance.h"

/*
 * Budget for looks at a process's code objects, each some round trips to a prober. The kernel
 * describes nearly all objects itself, so a program needs a few hundred at once; one that keeps
 * making code objects must not make krait burn a CPU.
 */
#define PROCESS_LOOKS_AT_ONCE 4096
#define PROCESS_LOOKS_PER_SEC 256

/* Somebody is waiting for the look at a process. */
struct look {
	bool done;
	int result;
};

struct entry {
	struct process process;
	struct processes *table;
	struct look *look; /* NULL: nobody is waiting */
	unsigned payer; /* who pays for the entry: bpf/share.h */
	TAILQ_ENTRY(entry) forked; /* while PROCESS_FORKED */
	__u64 forked_due_ns; /* when it must be opened */
	bool awaited; /* never, unless a record comes (forks_await()) */
	UT_hash_handle hh;
};

TAILQ_HEAD(forked_list, entry);

struct processes {
	struct processes_config config;
	struct entry *by_pid;
	struct forked_list forked; /* in the order in which they were put off */
	struct threads *threads;
	struct quota *room; /* entries, by owner */
	size_t own_size; /* of process.own */
	struct name_share names[OWNER_CNT]; /* by owner; looks are unlimited for root */
	process_gone_fn gone;
	void *gone_ctx;
	process_opened_fn opened;
	void *opened_ctx;
	thread_gone_fn renamed;
	void *renamed_ctx;
	struct name_watches watches;
	struct allowance table_looks[OWNER_CNT]; /* the same for searching published tables */
	unsigned tracked_cnt, seen_cnt, unwanted_cnt;
	unsigned unheard_cnt; /* process.unheard */
	unsigned taskless_cnt; /* processes whose version publishes nothing about its tasks */
	__u32 taskless_version; /* version of the last of these */
	__u64 mmap_cnt; /* mappings reported */
	__u64 due_ns; /* no look is due before this; 0: none is planned */
	__u64 asked_cnt; /* looks begun */
	__u64 looked_ns; /* last pass over the table for what is due */
	__u64 owner_asked[OWNER_CNT]; /* asked_cnt at each owner's last spared look */
	__u64 late_cnt, late_ns; /* processes__late() */
	unsigned sparing; /* processes__spare() */
	bool starving; /* processes__starve() */
	bool hears_perf; /* processes__hear_perf() */
	__u64 unseen_cnt; /* processes__unseen() */
	struct refusals refusals;
	char why[256];
};

struct entry *entry_find(struct processes *ps, pid_t pid);
/*
 * Adds an entry for a pid that has none. start_ns: 0 if unknown yet; owner: who pays for it. NULL:
 * out of memory, or the owner has too many.
 */
struct entry *entry_add(struct processes *ps, pid_t pid, __u64 start_ns, unsigned owner);
/* As process_start_ticks(). A replay needs such facts from /proc in addition to answers. */
int entry_start_ticks(const struct processes *ps, pid_t pid, __u64 *ret);
void entry_remove(struct processes *ps, struct entry *e);
/* Nothing will report its end. */
void entry_unheard(struct processes *ps, struct process *p);
/* The process runs that program; NULL: one of its own. Returns 0 or -ENOMEM. */
int process_set_program(struct process *p, struct program *program);
/* Drops everything derived from the old image. */
void entry_forget_image(struct processes *ps, struct entry *e);
/* p->info is filled: from now on its records can be named. parent: of a fork, or NULL. */
int entry_open(struct processes *ps, struct process *p, const struct process *parent);
/* It is Python, but excluded by the filter. */
void entry_leave_alone(struct processes *ps, struct process *p);
/* Reading the process never returned, so its samples lack some names: notes that for the user. */
void process_note_unread(struct processes *ps, const struct process *p);
/* Plans the next look. err: -ENOEXEC or -EINPROGRESS. */
void entry_plan_retry(struct processes *ps, struct process *p, int err);
/* For a process whose executable is plain, or while krait delays looks: by then most have exited. */
void entry_look_later(struct processes *ps, struct process *p);
/* Is every mapping of a tracked process reported, or reported as possibly missed? */
bool processes_hear_mappings(const struct processes *ps);
/* Something is due then, which processes__retry() will handle; 0: nothing. */
void processes_due(struct processes *ps, __u64 ns);
/*
 * Looks at the process and acts on the result. wait: waits a moment for it. -EINPROGRESS: the
 * result will come later; -ESRCH: the entry is gone, which can happen whenever a look ends.
 */
int entry_look_at(struct processes *ps, struct entry *e, bool wait);
/*
 * The same without waiting or stepping, which could end other looks: for code that iterates over
 * the table.
 */
void entry_look_again(struct processes *ps, struct entry *e);

#endif /* KRAIT_RECORD_FOLLOW_PROCESS_TABLE_H */
