/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * firefox_markers.h - the waits of a thread as interval markers of a Firefox profile: from when to when, for what, and
 * the stack that waited.
 */
#ifndef KRAIT_EMIT_FIREFOX_MARKERS_H
#define KRAIT_EMIT_FIREFOX_MARKERS_H

#include "emit/firefox_tables.h"
#include "emit/timeline.h"

/* The member "markers" of a thread. */
void firefox_put_markers(struct json *j, const struct firefox_tables *t,
			 const struct timeline_thread *thread, __u64 zero_ns);
/* And that of the meta data which says how they are shown. */
void firefox_put_marker_schema(struct json *j);

#endif /* KRAIT_EMIT_FIREFOX_MARKERS_H */
