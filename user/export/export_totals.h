/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_totals.h - adds up what successive workers have counted.
 */
#ifndef KRAIT_EXPORT_EXPORT_TOTALS_H
#define KRAIT_EXPORT_EXPORT_TOTALS_H

#include "export/exporter.h"

/* Adds what only grows; takes states from last, except its counts of losses. */
void export_totals_add(struct exporter_stats *total, const struct exporter_stats *last)
	__attribute__((nonnull));
/* Merges the worker's reports into stats that krait has counted. */
void export_totals_merge(struct exporter_stats *ret, const struct exporter_stats *before,
			 const struct exporter_stats *said) __attribute__((nonnull));

#endif /* KRAIT_EXPORT_EXPORT_TOTALS_H */
