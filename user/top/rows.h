/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows.h - samples by function, line, process, thread, container, state, as a tree, or around one function:
 * a table that grows with each round, so that a refresh costs what is new, not what is there.
 *
 * Sums are ns of thread time: over the length of a round, the share of a CPU.
 *
 * Must hold: a sample adds to each row once, however often that is on its stack. Ids are those of the
 * dictionary: after dict__forget() the table is made anew.
 */
#ifndef KRAIT_TOP_ROWS_H
#define KRAIT_TOP_ROWS_H

#include <linux/types.h>
#include <stdbool.h>

#include "top/samples.h"

enum rows_view {
	ROWS_FUNCTIONS,
	ROWS_LINES,
	ROWS_PROCESSES,
	ROWS_THREADS,
	ROWS_CONTAINERS,
	ROWS_STATES,
	ROWS_VIEW_CNT, /* those from which one chooses; the others are of something */
	ROWS_TREE = ROWS_VIEW_CNT,
	ROWS_CALLERS, /* of the focus */
	ROWS_CALLEES,
	ROWS_SOURCE, /* lines of the focus's file */
};

struct row_key {
	__u32 kind; /* enum frame_kind; of a container or a state, FRAME_MARK */
	__u32 name, file; /* string ids */
	int first_line, line; /* -1 unknown */
	int pid, tid; /* 0 none */
	__u32 parent; /* of a tree: row; 0 none */
};

struct row_sums {
	__u64 self[MEASURE_CNT], total[MEASURE_CNT]; /* ns */
};

struct row {
	struct row_key key;
	__u64 seen; /* the last sample that was added */
	__u64 number; /* of the round that now and history end with */
	struct row_sums now, all;
	__u64 samples; /* in total, since the start */
	__u32 history[ROUNDS_MAX]; /* us in total of the chosen measures, by number of the round */
};

struct rows_spec {
	enum rows_view view;
	int pid, tid; /* only these; 0 all */
	__u32 group; /* string id: only that container; 0 all */
	struct row_key focus; /* a function, or what else a view is of */
	unsigned measures; /* bits: those that the history shows */
};

/* Which container a process is in: a string id, 0 none. */
typedef __u32 (*rows_group_fn)(void *ctx, int pid);

struct rows {
	struct rows_spec spec;
	struct row *list; /* [0] is none */
	__u32 cnt; /* with [0] */
	struct row_sums now, all; /* of all samples that the spec wants; self is total */
	__u64 number; /* the last round that was added */
	__u64 refused; /* samples that found no memory */
};

/* NULL: no memory. group may be NULL. */
struct rows *rows__new(struct dict *dict, const struct rows_spec *spec, rows_group_fn group,
		       void *ctx);
void rows__free(struct rows *rows);

/* All that is there. 0 or -ENOMEM. */
int rows__fill(struct rows *rows, const struct samples *s) __attribute__((warn_unused_result));
/* The round that has just ended. */
void rows__add_round(struct rows *rows, const struct samples *s);
/* Its number, or 0. */
__u32 rows__find(const struct rows *rows, const struct row_key *key);

/* Of the last round that was added, nothing where the row has nothing there. */
struct row_sums row_now(const struct rows *rows, const struct row *row);
/* us of the round so many before the last one. */
__u32 row_history(const struct rows *rows, const struct row *row, unsigned age);
__u64 sum_of(const __u64 by_measure[MEASURE_CNT], unsigned measures);

#endif /* KRAIT_TOP_ROWS_H */
