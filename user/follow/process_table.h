/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process_table.h - the table of followed processes, which processes.c owns. process_events.c changes it as the kernel
 * reports events, process_looks.c by what looks at processes find, due_looks.c says when those are due.
 */
#ifndef KRAIT_FOLLOW_PROCESS_TABLE_H
#define KRAIT_FOLLOW_PROCESS_TABLE_H

#include <sys/queue.h>
#include <uthash.h>

#include "follow/processes.h"
#include "follow/refusals.h"
#include "share.h"
#include "symbol/look_budget.h"

/* Somebody waits for the look at a process. */
struct look {
	bool done;
	int result;
};

struct entry {
	struct process process;
	struct processes *table;
	struct look *look; /* NULL: nobody waits */
	unsigned payer; /* who has the room that it takes: bpf/share.h */
	TAILQ_ENTRY(entry) forked; /* of PROCESS_FORKED */
	__u64 forked_due_ns; /* when it is opened at the latest */
	UT_hash_handle hh;
};

TAILQ_HEAD(forked_list, entry);

struct processes {
	struct processes_config config;
	struct entry *by_pid;
	struct forked_list forked; /* in the order in which they were put off */
	struct threads *threads;
	struct quota *room; /* entries, by owner */
	struct look_budget looks[OWNER_CNT]; /* at code objects, by owner; unbounded for root */
	process_gone_fn gone;
	void *gone_ctx;
	process_gone_fn opened;
	void *opened_ctx;
	struct look_budget table_looks[OWNER_CNT]; /* the same at what they publish */
	unsigned tracked_cnt, seen_cnt, unwanted_cnt;
	unsigned taskless_cnt; /* whose version publishes nothing of its tasks */
	__u32 taskless_version; /* of the one that came last */
	__u64 mmap_cnt; /* mappings that were reported */
	__u64 due_ns; /* no look is due before; 0 none is planned */
	__u64 asked_cnt; /* looks that were begun */
	__u64 looked_ns; /* when it was gone through for what is due */
	__u64 owner_asked[OWNER_CNT]; /* asked_cnt at each owner's last look, of those that are spared */
	__u64 late_cnt, late_ns; /* processes__late() */
	unsigned sparing; /* processes__spare() */
	bool starving; /* processes__starve() */
	__u64 unseen_cnt; /* processes__unseen() */
	struct refusals refusals;
	char why[256];
};

struct entry *entry_find(struct processes *ps, pid_t pid);
/*
 * For a pid that has none. start_ns: 0 if it is not known yet; owner: who pays for it. NULL when out of memory,
 * or when the owner has too many.
 */
struct entry *entry_add(struct processes *ps, pid_t pid, __u64 start_ns, unsigned owner);
/* Who pays for it until it has been looked at. */
unsigned entry_owner_now(const struct processes *ps, pid_t pid);
/* As process_start_ticks(); such facts of /proc are what a replay needs besides answers. */
int entry_start_ticks(const struct processes *ps, pid_t pid, __u64 *ret);
void entry_remove(struct processes *ps, struct entry *e);
/* Back to a process of which nothing is known. */
void entry_forget_image(struct processes *ps, struct entry *e);
/* p->info is filled: from now on its records are named. parent: of a forked process, or NULL. */
int entry_open(struct processes *ps, struct process *p, const struct process *parent);
/* It is Python, and not what the filter asks for. */
void entry_leave_alone(struct processes *ps, struct process *p);
/* err: -ENOEXEC, -EINPROGRESS: when to look at it again. */
void entry_plan_retry(struct processes *ps, struct process *p, int err);
/* For a process whose executable is not Python, or while krait delays looks: by then most have exited. */
void entry_look_later(struct processes *ps, struct process *p);
/*
 * Nothing that begins is urgent. Never with a filter; with native frames, which need its mappings before its first
 * sample, from the second step of sparing on, and while krait may not look at all.
 */
bool processes_spare_all(const struct processes *ps);
/* Something is to be looked at then, which processes__retry() sees to; 0 nothing. */
void processes_due(struct processes *ps, __u64 ns);
/*
 * Looks at the process and acts on the result. wait: waits a moment for it. -EINPROGRESS: the result is still to
 * come; -ESRCH: the entry is gone, which can happen whenever a look ends.
 */
int entry_look_at(struct processes *ps, struct entry *e, bool wait);
/* The same without a wait or a step, which could end other looks: for whoever goes through the table. */
void entry_look_again(struct processes *ps, struct entry *e);

#endif /* KRAIT_FOLLOW_PROCESS_TABLE_H */
