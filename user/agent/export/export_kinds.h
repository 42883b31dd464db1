/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_kinds.h - what each kind of body needs on its way: one row for each, and nobody else knows
 * a kind by its number.
 */
#ifndef KRAIT_AGENT_EXPORT_EXPORT_KINDS_H
#define KRAIT_AGENT_EXPORT_EXPORT_KINDS_H

#include <stdbool.h>

#include "agent/export/exporter.h"

struct export_kind_row {
	const char *name;
	const char *http_path, *grpc_path; /* added to a destination's URL; grpc NULL: HTTP only */
	const char *http_type; /* of the body */
	bool compresses; /* krait compresses it; other bodies are sent as they are */
	bool answers; /* a server answers with a protobuf message that counts what it rejected */
};

static inline const struct export_kind_row *export_kind_row(enum export_kind kind)
{
	static const struct export_kind_row rows[EXPORT_KIND_CNT] = {
		[EXPORT_OTLP_PROFILES] = {
			.name = "OTLP",
			.http_path = "/v1development/profiles",
			.grpc_path = "/opentelemetry.proto.collector.profiles.v1development."
				     "ProfilesService/Export",
			.http_type = "application/x-protobuf",
			.compresses = true,
			.answers = true,
		},
		[EXPORT_PPROF] = {
			.name = "pprof",
			.http_path = "/ingest",
			.http_type = "application/octet-stream",
		},
	};

	return &rows[kind < EXPORT_KIND_CNT ? kind : EXPORT_OTLP_PROFILES];
}

#endif /* KRAIT_AGENT_EXPORT_EXPORT_KINDS_H */
