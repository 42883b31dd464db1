/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gil_table.h - the lock of each interpreter: who waits for it, who holds it meanwhile, and who hands it to whom.
 *
 * Must hold: what is said of holders follows from their own samples and waits (gil_holds.h); the rest of a wait is
 * of nobody known, and said so.
 */
#ifndef KRAIT_EMIT_GIL_TABLE_H
#define KRAIT_EMIT_GIL_TABLE_H

#include "emit/text_report.h"
#include "profile/profile.h"

struct gil_table;

/* NULL and errno on failure. */
struct gil_table *gil_table__new(void);
void gil_table__free(struct gil_table *t);

/* Takes in a sample of any event; those without a state are left out. 0 or -ENOMEM. */
int gil_table__add(struct gil_table *t, const struct profile *p, const struct profile_sample *s);
/* Prints what there is. Takes limit and min_percent of the options. 0 or -errno; -ENODATA: no sample tells of a lock. */
int gil_table__print(struct gil_table *t, FILE *out, const struct profile *p,
		     const struct summary_options *o);

#endif /* KRAIT_EMIT_GIL_TABLE_H */
