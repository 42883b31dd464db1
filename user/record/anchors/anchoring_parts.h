/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * anchoring_parts.h - shared between anchoring.c, which owns processes and threads and takes their
 * samples in, and anchoring_writes.c, which has anchors written.
 */
#ifndef KRAIT_RECORD_ANCHORS_ANCHORING_PARTS_H
#define KRAIT_RECORD_ANCHORS_ANCHORING_PARTS_H

#include <sys/queue.h>
#include <uthash.h>

#include "kernel/maps/anchors.h"
#include "record/anchors/anchoring.h"
#include "record/stack/placement.h"
#include "record/stack/stacks.h"

/* Writes in one batch. */
#define MAX_BATCH 256

enum hold {
	HOLD_FRESH, /* never written */
	HOLD_OWNED, /* the slot contains what we wrote */
	HOLD_WATCH, /* emptied; watching whether somebody else writes */
	HOLD_REFUSED, /* left alone for good */
};

enum asked {
	ASKED_NOTHING,
	ASKED_WRITE, /* write addrs */
	ASKED_CLEAR,
	ASKED_LOOK, /* look whether it has stayed empty */
};

struct admitted {
	struct anchor_process process;
	const char *refused; /* why it gets no more anchors; NULL: it does */
	TAILQ_HEAD(, anchored) threads;
	UT_hash_handle hh;
};

struct anchored {
	struct anchoring *anchoring;
	struct admitted *process;
	pid_t tid;
	unsigned owner; /* who pays for its anchor: bpf/share.h */
	__u64 start_ns;
	__u32 slot;
	struct last_stack *stack;
	enum hold hold;
	enum asked asked;
	int index; /* index of the anchor; < 0: none */
	bool queued;
	bool dumpable; /* when it was last seen */
	__u32 addr_cnt; /* number of addrs to be written; 0 empties the slot */
	__u64 *addrs; /* the frame to anchor at and its callers */
	__u64 watch_ns, watch_until_ns;
	__u64 tstate_addr, interp_addr, thread_ptr; /* from the last sample */
	struct placement placement;
	/* deltas that placement has accounted for, by the anchor's counters */
	struct anchor_deltas deltas;
	TAILQ_ENTRY(anchored) of_process;
	UT_hash_handle hh;
};

struct anchoring {
	enum anchor_mode mode;
	struct anchors *anchors;
	struct anchor_access access;
	struct admitted *by_pid;
	struct anchored *by_tid;
	struct stacks *stacks;
	struct anchoring_stats stats;
	int batch_cnt;
	pid_t batch[MAX_BATCH];
};

/* Queues it for the next flush; no effect if the batch is full. */
void anchored_enqueue(struct anchoring *a, struct anchored *t);
/* Somebody else writes the slot, too: empties it and watches whether it stays empty. */
void anchored_watch(struct anchoring *a, struct anchored *t, __u64 now_ns);
void anchored_refuse(struct anchoring *a, struct anchored *t, const char *why);
/* The kernel side stops using its anchor. */
void anchored_stop(struct anchoring *a, const struct anchored *t);
/* Returns the anchor's place, for others to use. */
void anchored_give_back(struct anchoring *a, struct anchored *t);

#endif /* KRAIT_RECORD_ANCHORS_ANCHORING_PARTS_H */
