/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_destination.h - a copy of a destination's configuration that owns its texts, so that it
 * outlives the options it came from.
 */
#ifndef KRAIT_EXPORT_EXPORT_DESTINATION_H
#define KRAIT_EXPORT_EXPORT_DESTINATION_H

#include "export/exporter.h"

/* *failed is set if memory ran out; the result can be freed all the same. */
void export_destination_copy(struct exporter_destination *to,
			     const struct exporter_destination *from, bool *failed)
	__attribute__((nonnull));
/* All zero: does nothing. */
void export_destination_free(struct exporter_destination *d) __attribute__((nonnull));

#endif /* KRAIT_EXPORT_EXPORT_DESTINATION_H */
