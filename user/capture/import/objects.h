/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * objects.h - what the processes of a capture have mapped, and the frame of an address there.
 */
#ifndef KRAIT_CAPTURE_IMPORT_OBJECTS_H
#define KRAIT_CAPTURE_IMPORT_OBJECTS_H

#include <linux/types.h>
#include <stdbool.h>

#include "capture/perfdata/perf_reader.h"
#include "profile/dict.h"

struct dso_reader;
struct mappings;
struct objects;

/* capture_path: also look beside it; NULL: nowhere. alone: open no file. */
struct objects *objects__new(struct dict *dict, const char *capture_path, bool alone);
/* Recorded on a machine of another kind: no program here is the one that ran there, whatever its path. */
void objects__set_foreign(struct objects *o);
void objects__free(struct objects *o);

/* The number of a mapping's object; opens it if it is new. Returns 0 or -errno. */
int objects__find(struct objects *o, const struct perf_read *record, __u32 *ret)
	__attribute__((warn_unused_result));

/*
 * Source lines of native code are wanted, and with inlined the inlined functions; a frame has them
 * as its parts (profile/parts.h).
 */
void objects__want_sources(struct objects *o, bool inlined);
/*
 * Call after the last frame: adds the instructions without samples of functions that have some
 * (code_listing.h). Returns 0 or -ENOMEM.
 */
int objects__list_code(struct objects *o) __attribute__((warn_unused_result));
/* The capture was made with the kernel that runs here: use its names where the capture has none. */
void objects__same_kernel(struct objects *o);
/* The kernel's code began there; if it is elsewhere now, this is another boot. */
void objects__set_kernel(struct objects *o, __u64 text_start);

/* Did krait assign the address to a place in Python, or to a mark? */
bool objects__is_python(const struct objects *o, const struct mappings *m, __u64 address);

/* The frame of an address; 0: out of memory. */
__u32 objects__frame(struct objects *o, const struct mappings *m, __u64 address, bool kernel);

/*
 * The newest DSO of krait that was opened, or NULL; and the path of one that was not found, or
 * NULL.
 */
const struct dso_reader *objects__dso(const struct objects *o);
/* The n-th of krait's DSOs that were opened, from 0; NULL: there are no more. */
const struct dso_reader *objects__dso_at(const struct objects *o, __u32 n);
const char *objects__missing(const struct objects *o);
__u64 objects__unresolved(const struct objects *o);

#endif /* KRAIT_CAPTURE_IMPORT_OBJECTS_H */
