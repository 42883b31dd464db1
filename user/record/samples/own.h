/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * own.h - what the session keeps for each process and thread that it follows: process.own and
 * thread.own, which record/follow/ neither reads nor writes.
 *
 * It is there from the moment that a process is tracked (a thread is sampled) until that ends or
 * another image is executed, and all zero at first. What needs freeing is freed by
 * collector__process_gone() and collector__thread_gone().
 */
#ifndef KRAIT_RECORD_SAMPLES_OWN_H
#define KRAIT_RECORD_SAMPLES_OWN_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "record/follow/processes.h"
#include "record/samples/thread_clock.h"
#include "record/follow/threads.h"

struct kept_file;
struct last_stack;
struct residence_book;

struct process_own {
	/* thread_node.c */
	__u64 node; /* a tag; 0: none yet */
	struct task_ids ids; /* of its last sample whose ids are known (whose.h) */
	uid_t node_uid; /* that its node's name says */
	/* collector.c */
	__u64 reasons[REASON_CNT]; /* how its interrupts ended */
	/* admission.c */
	bool offered; /* was offered to the placer of anchors */
	/* native_part.c */
	bool unevaluated; /* as join_input.unevaluated */
	/* interpreters.c */
	__u64 main_interp_addr; /* its oldest interpreter; 0: unknown. A fork's is its parent's */
	__u32 interp_looks; /* at other interpreters */
	/* kept_sources.c */
	__u8 root; /* whether its root folder is krait's */
	struct kept_file *sources;
	/* record/run/walk_costs.c */
	__u64 asked; /* its samples, when it was last asked what they take */
	bool costly;
	/* counting.c */
	__u32 gil_cnt, gil_cap;
	__u64 *gils; /* addresses of its interpreters' GILs */
	/* residence.c */
	struct residence_book *book; /* NULL: none yet */
};

struct thread_own {
	/* thread_node.c */
	__u64 node; /* a tag; 0: none yet */
	struct task_ids ids; /* of its last sample (whose.h) */
	char comm[16]; /* the kernel's name for it */
	char name[64]; /* what it is called (thread_name_shown()), printable */
	/* collector.c */
	__u64 unwanted; /* samples left out because of its name or id */
	struct last_stack *stack; /* NULL before the first stack */
	struct thread_clock clock;
	__u64 tstate_addr; /* from its last sample; 0: none */
	/* counting.c */
	__u64 came_ns; /* end of its last sampled wait; 0: none */
	/* interpreters.c */
	__u64 interp_addr; /* last interpreter other than the oldest; 0: none */
	bool has_callers; /* it entered that interpreter from an older one */
	/* residence.c */
	__u32 toucher; /* 0: none yet */
};

#endif /* KRAIT_RECORD_SAMPLES_OWN_H */
