/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * otlp_sink.h - windows as OTLP profiles: to an exporter, or as files in a folder.
 */
#ifndef KRAIT_AGENT_OTLP_SINK_H
#define KRAIT_AGENT_OTLP_SINK_H

#include <linux/types.h>

#include "agent/sink.h"

struct error;
struct exporter;
struct resources;
struct otlp_sink;

struct otlp_sink_config {
	struct exporter *exporter; /* borrowed; NULL none */
	const char *dir; /* NULL none */
	struct resources *resources; /* borrowed */
};

struct otlp_sink_stats {
	__u64 bodies, bytes, samples;
	__u64 failed, failed_samples; /* that could not be encoded, or written */
};

/* NULL with *err filled. */
struct otlp_sink *otlp_sink__new(const struct otlp_sink_config *config, struct error *err);
void otlp_sink__free(struct otlp_sink *o);
/* Where bodies go from now on. */
void otlp_sink__set_exporter(struct otlp_sink *o, struct exporter *exporter);
struct agent_sink otlp_sink__sink(struct otlp_sink *o);
void otlp_sink__stats(const struct otlp_sink *o, struct otlp_sink_stats *ret);

#endif /* KRAIT_AGENT_OTLP_SINK_H */
