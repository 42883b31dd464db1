/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gil_table.h - the lock of each interpreter: who waits for it, who holds it meanwhile, and who
 * hands it to whom.
 *
 * Must hold: statements about holders follow from the holders' own samples and waits (gil_holds.h).
 * The rest of a wait is reported as unknown.
 */
#ifndef KRAIT_OUTPUT_TEXT_GIL_TABLE_H
#define KRAIT_OUTPUT_TEXT_GIL_TABLE_H

#include "output/text/text_report.h"
#include "profile/profile.h"

struct gil_table;

/* Returns NULL and sets errno on failure. */
struct gil_table *gil_table__new(void);
void gil_table__free(struct gil_table *t);

/* Adds a sample of any event; samples without a state are ignored. Returns 0 or -ENOMEM. */
int gil_table__add(struct gil_table *t, const struct profile *p, const struct profile_sample *s);
/*
 * Prints the tables. Uses limit and min_percent of the options. Returns 0 or -errno; -ENODATA: no
 * sample concerns a lock.
 */
int gil_table__print(struct gil_table *t, FILE *out, const struct profile *p,
		     const struct summary_options *o);

#endif /* KRAIT_OUTPUT_TEXT_GIL_TABLE_H */
