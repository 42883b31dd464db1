/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.h - what krait top shows, without a screen: samples, and the rows of the current view.
 *
 * A place is a view of something: of one process, of a function's callers. One goes into places and back
 * out.
 *
 * Must hold: rows are those of the place and of all rounds that are over; a place stays the same one
 * whatever the dictionary forgets.
 */
#ifndef KRAIT_TOP_MODEL_H
#define KRAIT_TOP_MODEL_H

#include <linux/types.h>
#include <stdbool.h>

#include "top/groups.h"
#include "top/order.h"
#include "top/rows.h"
#include "top/samples.h"
#include "top/trim.h"

#define PLACES_MAX 16

struct top_source;

struct place_of_top {
	struct rows_spec spec;
	struct row_key cursor; /* on that row; a name of 0 is none */
	bool tree; /* functions are shown as one */
	char filter[64];
};

struct model {
	struct profile *session; /* borrowed */
	struct samples *samples;
	struct groups *groups;
	struct rows *rows, *callees; /* callees: with callers in rows; else NULL */
	struct order order, order_callees;
	struct order_options options; /* the filter is that of the place */
	struct place_of_top places[PLACES_MAX];
	unsigned place_cnt; /* at least 1: the last one is shown */
	struct top_source *source; /* text, where the place shows one; else NULL */
	signed char *folds; /* by row of a tree */
	const char *source_folder; /* where files are that are not at their place; NULL nowhere */
	bool off_cpu; /* time off the CPU is there, too */
	__u32 trim_at; /* nodes */
	__u32 trims; /* for tests */
	struct dict_holder holder;
};

/* NULL: no memory. What session points to outlives it. */
struct model *model__new(struct profile *session, __u64 now_ns);
void model__free(struct model *m);

/* A round is over. alive as for trim(). Errors are -errno, and leave the rows empty. */
int model__end_round(struct model *m, __u64 now_ns, trim_alive_fn alive, void *ctx)
	__attribute__((warn_unused_result));
/* The options have changed. */
int model__order(struct model *m) __attribute__((warn_unused_result));

struct place_of_top *model_place(struct model *m);
const struct place_of_top *model_place_const(const struct model *m);
/* Another view of the same. */
int model__show(struct model *m, enum rows_view view, bool tree)
	__attribute__((warn_unused_result));
/* Into another place; out of it again. False where there is no way. */
bool model__enter(struct model *m, const struct rows_spec *spec, bool tree);
bool model__leave(struct model *m);
/* Rows anew: the measures of the history have changed, or all begins anew. */
int model__refill(struct model *m) __attribute__((warn_unused_result));
/* The other way from what it is. */
int model__fold(struct model *m, __u32 row, bool open) __attribute__((warn_unused_result));

#endif /* KRAIT_TOP_MODEL_H */
