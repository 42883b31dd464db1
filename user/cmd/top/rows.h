/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows.h - samples by function, line, process, thread, container or state, as a tree, or around one
 * function. The table grows with each round, so a refresh costs only what is new.
 *
 * Sums are ns of thread time: divided by a round's length, the share of a CPU.
 *
 * Must hold: a sample adds to each row once, however often the row is on its stack. Ids are the
 * dictionary's: after dict__forget() the table must be rebuilt.
 */
#ifndef KRAIT_CMD_TOP_ROWS_H
#define KRAIT_CMD_TOP_ROWS_H

#include <linux/types.h>
#include <stdbool.h>

#include "cmd/top/samples.h"

enum rows_view {
	ROWS_FUNCTIONS,
	ROWS_LINES,
	ROWS_PROCESSES,
	ROWS_THREADS,
	ROWS_CONTAINERS,
	ROWS_STATES,
	ROWS_VIEW_CNT, /* the user chooses among those above; the others need a focus */
	ROWS_TREE = ROWS_VIEW_CNT,
	ROWS_CALLERS, /* of the focus */
	ROWS_CALLEES,
	ROWS_SOURCE, /* lines of the focus's file */
};

struct row_key {
	__u32 kind; /* enum frame_kind; FRAME_MARK for a container or a state */
	__u32 name, file; /* string ids */
	int first_line, line; /* -1: unknown */
	int pid, tid; /* 0: none */
	__u32 parent; /* in a tree: parent row; 0: none */
};

struct row_sums {
	__u64 self[MEASURE_CNT], total[MEASURE_CNT]; /* ns */
};

struct row {
	struct row_key key;
	__u64 seen; /* the last sample added */
	__u64 number; /* the round at which now and history end */
	struct row_sums now, all;
	__u64 samples; /* in total, since the start */
	__u32 history[ROUNDS_MAX]; /* us in total of the chosen measures, by round number */
};

struct rows_spec {
	enum rows_view view;
	int pid, tid; /* limit to these; 0: all */
	__u32 group; /* string id: limit to that container; 0: all */
	struct row_key focus; /* a function or another subject of the view */
	unsigned measures; /* bits: what the history shows */
};

/* Returns a process's container as a string id; 0: none. */
typedef __u32 (*rows_group_fn)(void *ctx, int pid);

struct rows {
	struct rows_spec spec;
	struct row *list; /* [0] is unused */
	__u32 cnt; /* including [0] */
	struct row_sums now, all; /* of all samples that the spec wants; self equals total */
	__u64 number; /* the last round added */
	__u64 refused; /* samples dropped for lack of memory */
};

/* Returns NULL if out of memory. group may be NULL. */
struct rows *rows__new(struct dict *dict, const struct rows_spec *spec, rows_group_fn group,
		       void *ctx);
void rows__free(struct rows *rows);

/* Adds everything that exists. Returns 0 or -ENOMEM. */
int rows__fill(struct rows *rows, const struct samples *s) __attribute__((warn_unused_result));
/* Adds the round that has just ended. */
void rows__add_round(struct rows *rows, const struct samples *s);
/* Returns the row's number; 0: none. */
__u32 rows__find(const struct rows *rows, const struct row_key *key);

/* Returns the row's sums in the last round added; zero if it had nothing there. */
struct row_sums row_now(const struct rows *rows, const struct row *row);
/* Returns us in the round so many before the last one. */
__u32 row_history(const struct rows *rows, const struct row *row, unsigned age);
__u64 sum_of(const __u64 by_measure[MEASURE_CNT], unsigned measures);

#endif /* KRAIT_CMD_TOP_ROWS_H */
