/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write_features.h - the feature sections of a perf.data file: where, when and how it was made.
 */
#ifndef KRAIT_CAPTURE_PERFDATA_WRITE_FEATURES_H
#define KRAIT_CAPTURE_PERFDATA_WRITE_FEATURES_H

#include "capture/perfdata/format.h"
#include "capture/perfdata/perf_writer.h"
#include "base/data/bytes.h"

struct perf_facts {
	const struct perf_writer_config *config;
	const struct perf_raw_event *events; /* as many as in the configuration */
	const struct perf_object *objects; /* for BUILD_ID */
	unsigned object_cnt;
	__u64 first_ns, last_ns; /* of the samples */
	__u64 wall_ns, clock_ns; /* the same moment on both clocks; wall_ns 0: unknown */
	__u32 ratio; /* of the compression; 0: not known yet */
};

/* The features to write, ascending; ends with 0. */
extern const enum perf_feature perf_features[];

/* The payload of one feature; empty if there is nothing to say. */
void perf_feature_put(struct bytes *b, enum perf_feature feature, const struct perf_facts *f);

/* An entry of the list of build IDs. */
void perf_build_id_put(struct bytes *b, const struct perf_object *o);

#endif /* KRAIT_CAPTURE_PERFDATA_WRITE_FEATURES_H */
