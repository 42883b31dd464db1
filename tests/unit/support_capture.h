/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_capture.h - a profile as a perf.data file, and back.
 */
#ifndef KRAIT_TESTS_SUPPORT_CAPTURE_H
#define KRAIT_TESTS_SUPPORT_CAPTURE_H

#include <stdio.h>

#include "emit/emitter.h"
#include "import/perf_import.h"
#include "profile/profile.h"

/* What capture_write() says of the recording. */
extern const struct emit_options capture_options;

/* A folder of its own, also for what goes into the build-id cache. */
struct capture {
	char folder[64], path[96];
	FILE *file;
};

void capture_open(struct capture *c);
void capture_close(struct capture *c);

/* Of two CPUs, whose records are not quite in the order of time: the first one, too, is later. */
void capture_write(FILE *out, const struct profile *p);
/* To be freed. */
struct profile *capture_read(const struct capture *c, struct perf_import_stats *stats);

#endif /* KRAIT_TESTS_SUPPORT_CAPTURE_H */
