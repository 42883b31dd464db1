/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_capture.h - writes a profile as a perf.data file and reads it back.
 */
#ifndef KRAIT_TESTS_SUPPORT_CAPTURE_H
#define KRAIT_TESTS_SUPPORT_CAPTURE_H

#include <stdio.h>

#include "output/emitter.h"
#include "capture/import/perf_import.h"
#include "profile/profile.h"

/* The description of the recording that capture_write() stores. */
extern const struct emit_options capture_options;

/* A folder of its own, also used as build-id cache. */
struct capture {
	char folder[64], path[96];
	FILE *file;
};

void capture_open(struct capture *c);
void capture_close(struct capture *c);

/* As if from two CPUs whose records are slightly out of time order, the first one included. */
void capture_write(FILE *out, const struct profile *p);
/* The caller frees the result. */
struct profile *capture_read(const struct capture *c, struct perf_import_stats *stats);

#endif /* KRAIT_TESTS_SUPPORT_CAPTURE_H */
