/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * objects.h - what the processes of a capture have mapped, and what frame an address there is.
 */
#ifndef KRAIT_CAPTURE_OBJECTS_H
#define KRAIT_CAPTURE_OBJECTS_H

#include <linux/types.h>
#include <stdbool.h>

#include "capture/perf_reader.h"
#include "profile/profile.h"

struct objects;
struct dso_reader;

/* The mappings of one process, or of the kernel. All zero is none. */
struct mappings {
	struct mapping *list; /* by start; a later one takes the place of those it overlaps */
	unsigned cnt, cap;
};

/* capture_path: to look beside it; NULL nowhere. */
struct objects *objects__new(struct profile *p, const char *capture_path);
void objects__free(struct objects *o);

int mappings_add(struct mappings *m, struct objects *o, const struct perf_read *record);
int mappings_copy(struct mappings *to, const struct mappings *from);
void mappings_free(struct mappings *m);

/* The kernel's code began there: its names are known if this kernel is that one, in the same place. */
void objects__set_kernel(struct objects *o, __u64 text_start);

/* The frame of an address, 0 when out of memory. */
__u32 objects__frame(struct objects *o, const struct mappings *m, __u64 address, bool kernel);

/* The newest DSO of krait that was opened, or NULL; path of one that was not found, or NULL. */
const struct dso_reader *objects__dso(const struct objects *o);
const char *objects__missing(const struct objects *o);
__u64 objects__unresolved(const struct objects *o);

#endif /* KRAIT_CAPTURE_OBJECTS_H */
