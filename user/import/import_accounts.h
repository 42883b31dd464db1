/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * import_accounts.h - the accounts of a capture: those that krait's emitter has put into the newest
 * DSO, or else what follows from the samples.
 */
#ifndef KRAIT_IMPORT_IMPORT_ACCOUNTS_H
#define KRAIT_IMPORT_IMPORT_ACCOUNTS_H

#include "profile/profile.h"

struct dso_reader;

/*
 * Fills the accounts of all events, and who the processes were. dso: NULL: there is none; lost:
 * over all events, from the records; it is charged to event number first. *ret_seconds: length of
 * the recording, untouched if unknown.
 */
void import_accounts(struct profile *p, const struct dso_reader *dso, __u64 lost, unsigned first,
		     double *ret_seconds);

#endif /* KRAIT_IMPORT_IMPORT_ACCOUNTS_H */
