/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_features.h - reads the features of a perf.data file: where and how it was made.
 */
#ifndef KRAIT_CAPTURE_PERFDATA_READ_FEATURES_H
#define KRAIT_CAPTURE_PERFDATA_READ_FEATURES_H

#include "capture/perfdata/read_events.h"
#include "capture/perfdata/read_record.h"
#include "capture/perfdata/perf_reader.h"

/*
 * Takes the payload of one feature: names of events go to *a, everything else to *f. Malformed data
 * is ignored, since nothing depends on it.
 */
void perf_description_take(struct perf_read_facts *f, struct perf_attrs *a, unsigned feature,
			   struct cursor *c);

#endif /* KRAIT_CAPTURE_PERFDATA_READ_FEATURES_H */
