/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * import_accounts.h - the accounts of a capture: those that krait's emitter has put into the newest
 * DSO, or else what follows from the samples.
 */
#ifndef KRAIT_CAPTURE_IMPORT_IMPORT_ACCOUNTS_H
#define KRAIT_CAPTURE_IMPORT_IMPORT_ACCOUNTS_H

#include "profile/profile.h"

struct dso_reader;
struct identities;
struct objects;

/* Can only the caller or root have written it? If not, notes whose claim it is. */
bool import_is_believed(struct identities *set, int fd);

/*
 * Whose the processes were: what the capture says counts only if nobody else than the caller or root
 * can have written it. capture_fd: borrowed.
 */
int import_identities(struct dict *dict, const struct objects *objects, int capture_fd)
	__attribute__((warn_unused_result));

/*
 * Fills the accounts of all events. dso: NULL: there is none; lost:
 * over all events, from the records; it is charged to event number first.
 */
void import_accounts(struct profile *p, const struct dso_reader *dso, __u64 lost, unsigned first);
/*
 * How long the recording lasted, as the capture says (untrusted), and when it began (CLOCK_MONOTONIC; 0:
 * unknown). Returns 0; -ENODATA: it does not say.
 */
int import_length(const struct dso_reader *dso, __u64 *ret_began_ns, __u64 *ret_length_ns)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CAPTURE_IMPORT_IMPORT_ACCOUNTS_H */
