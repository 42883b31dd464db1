/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spool_place.h - the files of a spool: krait creates, opens and locks them; the exporter, which
 * may open none, uses them.
 */
#ifndef KRAIT_AGENT_EXPORT_SPOOL_PLACE_H
#define KRAIT_AGENT_EXPORT_SPOOL_PLACE_H

#include "agent/export/spool.h"

struct error;

/*
 * dir NULL: all in memory. Otherwise a folder of ours that nobody else may write, created if
 * missing, and locked: two agents cannot share it. Returns 0, or negative with *err filled.
 */
int spool_place_open(struct spool_files *f, int *ret_lock, const char *dir, struct error *err)
	__attribute__((warn_unused_result, nonnull(1, 2, 4)));
void spool_place_close(struct spool_files *f, int lock);

#endif /* KRAIT_AGENT_EXPORT_SPOOL_PLACE_H */
