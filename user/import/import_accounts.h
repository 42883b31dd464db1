/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * import_accounts.h - the accounts of a capture: those that krait's emitter has put into the newest DSO,
 * or else what can be said from the samples that are there.
 */
#ifndef KRAIT_IMPORT_IMPORT_ACCOUNTS_H
#define KRAIT_IMPORT_IMPORT_ACCOUNTS_H

#include "profile/profile.h"

struct dso_reader;

/*
 * Fills the accounts of all events, and whose the processes were. dso: NULL where there is none; lost: of
 * all events, by the records; it goes to the event with the number first. *ret_seconds is the length of the recording, untouched where it is not known.
 */
void import_accounts(struct profile *p, const struct dso_reader *dso, __u64 lost, unsigned first,
		     double *ret_seconds);

#endif /* KRAIT_IMPORT_IMPORT_ACCOUNTS_H */
