/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * import_accounts.h - the accounts of a capture: those that krait's emitter has put into the newest
 * DSO, or else what follows from the samples.
 */
#ifndef KRAIT_IMPORT_IMPORT_ACCOUNTS_H
#define KRAIT_IMPORT_IMPORT_ACCOUNTS_H

#include "profile/profile.h"

struct dso_reader;
struct objects;

/*
 * Whose the processes were: what the capture says counts only if nobody else than the caller or root
 * can have written it. capture_fd: borrowed.
 */
void import_identities(struct dict *dict, const struct objects *objects, int capture_fd);

/*
 * Fills the accounts of all events. dso: NULL: there is none; lost:
 * over all events, from the records; it is charged to event number first. *ret_seconds: length of
 * the recording, untouched if unknown.
 */
void import_accounts(struct profile *p, const struct dso_reader *dso, __u64 lost, unsigned first,
		     double *ret_seconds);

#endif /* KRAIT_IMPORT_IMPORT_ACCOUNTS_H */
