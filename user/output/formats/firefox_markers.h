/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * firefox_markers.h - a thread's waits as interval markers of a Firefox profile: start, end,
 * reason, and the stack that waited.
 */
#ifndef KRAIT_OUTPUT_FORMATS_FIREFOX_MARKERS_H
#define KRAIT_OUTPUT_FORMATS_FIREFOX_MARKERS_H

#include "output/formats/firefox_tables.h"
#include "output/timeline.h"

/* Writes the "markers" member of a thread. */
void firefox_put_markers(struct json *j, const struct firefox_tables *t,
			 const struct timeline_thread *thread, __u64 zero_ns);
/* Writes the member of "meta" that says how to show them. */
void firefox_put_marker_schema(struct json *j);

#endif /* KRAIT_OUTPUT_FORMATS_FIREFOX_MARKERS_H */
