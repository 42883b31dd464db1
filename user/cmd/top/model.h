/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.h - what krait top shows, independent of a screen: samples and the rows of the current
 * view.
 *
 * A place is a view of something: of one process, or of a function's callers. The user enters
 * places and leaves them again.
 *
 * Must hold: the rows are those of the place over all finished rounds. A place keeps its meaning
 * whatever the dictionary forgets.
 */
#ifndef KRAIT_CMD_TOP_MODEL_H
#define KRAIT_CMD_TOP_MODEL_H

#include <linux/types.h>
#include <stdbool.h>

#include "cmd/top/groups.h"
#include "cmd/top/order.h"
#include "cmd/top/rows.h"
#include "cmd/top/samples.h"
#include "cmd/top/trim.h"

#define PLACES_MAX 16

struct top_source;

struct place_of_top {
	struct rows_spec spec;
	struct row_key cursor; /* the cursor's row; name 0: none */
	bool tree; /* show functions as a tree */
	char filter[64];
};

struct model {
	struct profile *session; /* borrowed */
	struct samples *samples;
	struct groups *groups;
	struct rows *rows, *callees; /* callees: exists if rows has callers; else NULL */
	struct order order, order_callees;
	struct order_options options; /* with the place's filter */
	struct place_of_top places[PLACES_MAX];
	unsigned place_cnt; /* at least 1; the last one is shown */
	struct top_source *source; /* text, if the place shows one; else NULL */
	signed char *folds; /* by row of a tree */
	const char *source_folder; /* where to look for files that moved; NULL: nowhere */
	bool off_cpu; /* off-CPU time is available */
	__u32 trim_at; /* nodes */
	__u32 trims; /* count, for tests */
	__u32 renamed_cnt; /* dict__renamed_cnt() when rows of threads were made anew */
	struct dict_holder holder;
};

/* Returns NULL if out of memory. session and what it points to must outlive it. */
struct model *model__new(struct profile *session, __u64 now_ns);
void model__free(struct model *m);

/* Ends a round. alive: as for trim(). Returns 0, or -errno with the rows empty. */
int model__end_round(struct model *m, __u64 now_ns, trim_alive_fn alive, void *ctx)
	__attribute__((warn_unused_result));
/* Call when the options changed. */
int model__order(struct model *m) __attribute__((warn_unused_result));

struct place_of_top *model_place(struct model *m);
const struct place_of_top *model_place_const(const struct model *m);
/* Shows another view of the same place. */
int model__show(struct model *m, enum rows_view view, bool tree)
	__attribute__((warn_unused_result));
/*
 * Returns the line of the function that takes most time, since the start, of the chosen measures; 0:
 * none.
 */
int model__hottest_line(struct model *m, const struct row_key *function);
/* Enters another place; leaves it again. Returns false if impossible. */
bool model__enter(struct model *m, const struct rows_spec *spec, bool tree);
bool model__leave(struct model *m);
/* Rebuilds the rows: the measures of the history changed, or counting starts anew. */
int model__refill(struct model *m) __attribute__((warn_unused_result));
/* Toggles the fold: open is its present state. */
int model__fold(struct model *m, __u32 row, bool open) __attribute__((warn_unused_result));

#endif /* KRAIT_CMD_TOP_MODEL_H */
