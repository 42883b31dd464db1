/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_description.h - reads the features of a perf.data file: where and how it was made.
 */
#ifndef KRAIT_CAPTURE_PERF_DESCRIPTION_H
#define KRAIT_CAPTURE_PERF_DESCRIPTION_H

#include "capture/perf_attrs.h"
#include "capture/perf_decode.h"
#include "capture/perf_reader.h"

/*
 * The payload of one feature: names of events go to *a, all else to *f. What makes no sense is left
 * out, since nothing depends on it.
 */
void perf_description_take(struct perf_read_facts *f, struct perf_attrs *a, unsigned feature,
			   struct cursor *c);

#endif /* KRAIT_CAPTURE_PERF_DESCRIPTION_H */
