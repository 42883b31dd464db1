/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent_export_options.h - where krait agent sends its windows: options, and, if no option names an
 * endpoint, the environment that OpenTelemetry exporters use (OTEL_EXPORTER_OTLP_* and
 * OTEL_EXPORTER_OTLP_PROFILES_*).
 *
 * An option of a destination applies to the endpoint before it; ahead of the first endpoint, to
 * all.
 */
#ifndef KRAIT_CMD_AGENT_AGENT_EXPORT_OPTIONS_H
#define KRAIT_CMD_AGENT_AGENT_EXPORT_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "agent/export/exporter.h"

#define EXPORT_HEADERS_MAX 16

struct agent_export_options {
	struct exporter_destination common, destinations[EXPORT_DESTINATIONS_MAX];
	const char *headers[EXPORT_DESTINATIONS_MAX + 1][EXPORT_HEADERS_MAX];
	unsigned destination_cnt;
	const char *spool_dir; /* NULL: in memory */
	__u64 spool_bytes;
};

/* A child of the agent's parser; its input is a struct agent_export_options. */
extern const struct argp agent_export_argp;

/* Texts are borrowed from the arguments. */
void agent_export_options_copy(struct agent_export_options *to,
			       const struct agent_export_options *from);
/* Tells whether both are equal. */
bool agent_export_options_same(const struct agent_export_options *a,
			       const struct agent_export_options *b);

#endif /* KRAIT_CMD_AGENT_AGENT_EXPORT_OPTIONS_H */
