/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * otlp_sink.h - sends windows as OTLP profiles to an exporter, or writes them as files in a folder.
 */
#ifndef KRAIT_AGENT_OTLP_SINK_H
#define KRAIT_AGENT_OTLP_SINK_H

#include <linux/types.h>
#include <stdio.h>

#include "agent/sink.h"

struct error;
struct exporter;
struct resources;
struct otlp_sink;

struct otlp_sink_config {
	struct exporter *exporter; /* borrowed; NULL: none */
	const char *dir; /* NULL: none */
	struct resources *resources; /* borrowed */
};

/* NULL with *err filled. */
struct otlp_sink *otlp_sink__new(const struct otlp_sink_config *config, struct error *err);
void otlp_sink__free(struct otlp_sink *o);
/* Where bodies go from now on. */
void otlp_sink__set_exporter(struct otlp_sink *o, struct exporter *exporter);
struct agent_sink otlp_sink__sink(struct otlp_sink *o);
/* What became of the windows, as Prometheus text: metrics krait_otlp_*. */
void otlp_sink__metrics(const struct otlp_sink *o, FILE *out);

#endif /* KRAIT_AGENT_OTLP_SINK_H */
