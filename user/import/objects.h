/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * objects.h - what the processes of a capture have mapped, and what frame an address there is.
 */
#ifndef KRAIT_IMPORT_OBJECTS_H
#define KRAIT_IMPORT_OBJECTS_H

#include <linux/types.h>
#include <stdbool.h>

#include "perfdata/perf_reader.h"
#include "profile/dict.h"

struct dso_reader;
struct mappings;
struct objects;

/* capture_path: to look beside it; NULL nowhere. alone: no file is opened. */
struct objects *objects__new(struct dict *dict, const char *capture_path, bool alone);
void objects__free(struct objects *o);

/* The object that a mapping is of, as a number; opened when it is new. 0 or -errno. */
int objects__find(struct objects *o, const struct perf_read *record, __u32 *ret)
	__attribute__((warn_unused_result));

/*
 * Source lines of native code are wanted, and the functions that were inlined; a frame has them as its parts
 * (profile/parts.h).
 */
void objects__want_sources(struct objects *o, bool inlined);
/* Behind the last frame: the instructions without samples of functions that have some (code_listing.h). 0 or -ENOMEM. */
int objects__list_code(struct objects *o) __attribute__((warn_unused_result));
/* The capture is of the kernel that runs here: its names may be asked for where it has none. */
void objects__same_kernel(struct objects *o);
/* The kernel's code began there; if it is elsewhere now, it is another boot. */
void objects__set_kernel(struct objects *o, __u64 text_start);

/* Is the address one that krait has given to a place in Python, or to a mark? */
bool objects__is_python(const struct objects *o, const struct mappings *m, __u64 address);

/* The frame of an address, 0 when out of memory. */
__u32 objects__frame(struct objects *o, const struct mappings *m, __u64 address, bool kernel);

/* The newest DSO of krait that was opened, or NULL; path of one that was not found, or NULL. */
const struct dso_reader *objects__dso(const struct objects *o);
const char *objects__missing(const struct objects *o);
__u64 objects__unresolved(const struct objects *o);

#endif /* KRAIT_IMPORT_OBJECTS_H */
