/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spool_place.h - the files of a spool: made, opened and locked by krait, used by the exporter, which may open none.
 */
#ifndef KRAIT_EXPORT_SPOOL_PLACE_H
#define KRAIT_EXPORT_SPOOL_PLACE_H

#include "export/spool.h"

struct error;

/*
 * dir NULL: all of them in memory. Else a folder of ours that nobody else may write, made if it is not there, and
 * locked: two agents cannot have it. 0, or negative with *err filled.
 */
int spool_place_open(struct spool_files *f, int *ret_lock, const char *dir, struct error *err)
	__attribute__((warn_unused_result, nonnull(1, 2, 4)));
void spool_place_close(struct spool_files *f, int lock);

#endif /* KRAIT_EXPORT_SPOOL_PLACE_H */
