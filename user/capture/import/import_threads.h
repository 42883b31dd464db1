/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * import_threads.h - the processes and threads of a capture being read: names, mappings, and the
 * last stack of each thread, whose unchanged part from the root on need not be looked up again.
 *
 * Must hold: a last stack is forgotten when anything that it depends on changes: the name of its
 * process, its process, or a mapping; a change of a mapping forgets all stacks. A thread that is
 * renamed keeps its node.
 */
#ifndef KRAIT_CAPTURE_IMPORT_IMPORT_THREADS_H
#define KRAIT_CAPTURE_IMPORT_IMPORT_THREADS_H

#include <linux/types.h>
#include <uthash.h>

#include "capture/import/mappings.h"
#include "capture/import/objects.h"
#include "capture/perfdata/perf_reader.h"
#include "profile/items.h"

struct import_process {
	int pid;
	char name[64];
	bool named;
	struct mappings mappings;
	__u32 epoch; /* last stacks of its threads are valid only with this epoch */
	__u64 unwanted; /* samples filtered out */
	UT_hash_handle hh;
};

struct import_thread {
	int tid, pid;
	char comm[64];
	__u32 number; /* unique: another thread may have the same tid later */
	bool ended;
	__u64 unwanted; /* samples filtered out */
	__u64 out_ns; /* when it left its CPU, or the last part of its wait ended; 0 unknown */
	__u32 epoch;
	__u32 node; /* of the profile; 0: none yet */
	struct named named; /* the last stack */
	UT_hash_handle hh;
};

/*
 * A cache of stacks: a program has some thousand, which recur again and again, and each costs a look-up for every frame. A
 * stack is identified by all of its addresses, compared one by one, and by its thread. There is one place per hash: of two
 * that share one, the later wins.
 */
/* 4,096 of the deepest take 16 MiB. */
#define IMPORT_STACKS_PLACES 4096U
#define IMPORT_STACKS_DEPTH 512U

struct import_stack {
	__u64 *chain;
	__u32 cnt, cap;
	__u32 thread; /* the node that it hangs on */
	__u32 node; /* node of the leaf; 0: none */
	__u32 epoch; /* when it was put */
};

struct import_stacks {
	struct import_stack *places; /* NULL until the first one is put */
	__u32 epoch; /* entries of other epochs are invalid */
};

/* All zero: empty. */
struct import_tasks {
	struct import_process *processes;
	struct import_thread *threads;
	struct import_stacks stacks;
	struct mappings_budget mappings;
	__u32 thread_cnt; /* met so far */
	/*
	 * What threads are called in the end, by number, from an earlier pass over the same records,
	 * which gives them the same numbers; NULL: there was none.
	 */
	struct import_name {
		char text[64];
	} * names;
	__u32 name_cnt, name_cap;
	bool keeps_names; /* this is that pass */
};

void import_tasks_free(struct import_tasks *ts);

/* Creates it if necessary; NULL: out of memory, or too many. */
struct import_process *import_tasks_process(struct import_tasks *ts, int pid);
struct import_thread *import_tasks_thread(struct import_tasks *ts, int pid, int tid);

/* Takes in a record about them. Returns 0 or -ENOMEM. */
int import_tasks_comm(struct import_tasks *ts, struct dict *dict, const struct perf_read *r);
int import_tasks_fork(struct import_tasks *ts, const struct perf_read *r);
void import_tasks_exit(struct import_tasks *ts, const struct perf_read *r);
void import_tasks_switch(struct import_tasks *ts, const struct perf_read *r);
/* The earlier pass is over: takes its names. */
void import_tasks_take_names(struct import_tasks *ts, struct import_tasks *earlier);
/* What a thread is called in the end, if that is known; else so far. */
const char *import_thread_name(const struct import_tasks *ts, const struct import_thread *t);
/* When the wait that ends then began; 0 unknown. */
__u64 import_thread_waited(struct import_thread *t, __u64 end_ns);
/* Adds a mapping that is not the kernel's. */
int import_tasks_mapping(struct import_tasks *ts, struct objects *objects,
			 const struct perf_read *r);

/* The leaf's node; 0: unknown. */
__u32 import_stacks_find(const struct import_stacks *s, __u32 thread, const __u64 *chain,
			 unsigned cnt);
/* Stores it, if there is memory. */
void import_stacks_put(struct import_stacks *s, __u32 thread, const __u64 *chain, unsigned cnt,
		       __u32 node);

/*
 * "12 (python3), 34 (cron) and 5 more": the processes, or threads, with the most samples filtered
 * out.
 */
void import_tasks_say_unwanted(char *buf, size_t size, const struct import_tasks *ts,
			       bool processes);

#endif /* KRAIT_CAPTURE_IMPORT_IMPORT_THREADS_H */
