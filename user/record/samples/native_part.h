/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native_part.h - the native and kernel part of a sample: resolved, joined with Python, as frames
 * of the profile.
 *
 * Must hold: whatever the native part looks like, the result contains the Python frames in order.
 */
#ifndef KRAIT_RECORD_SAMPLES_NATIVE_PART_H
#define KRAIT_RECORD_SAMPLES_NATIVE_PART_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"
#include "profile/dict.h"
#include "profile/items.h"
#include "record/stack/join.h"

struct kernel_symbols;
struct native_part;
struct native_files;
struct native_places;
struct process;
struct unwinding;

struct native_part_options {
	bool native, kernel; /* the records contain them */
	bool interpreter; /* show the interpreter's own frames */
	/* outputs want addresses: one frame for each place, not for each function */
	bool addresses;
	bool hides_kernel; /* no addresses of the kernel, but stand-ins (KERNEL_HIDDEN) */
	/* valid with addresses: no output wants names before the end (late_names.h) */
	bool late_names;
	/* valid with late_names: ask servers for the symbols of files that have none */
	bool fetches;
	bool sources, inlined; /* source lines and inlined functions are wanted (native_places.h) */
	struct kernel_symbols *kernel_symbols; /* borrowed */
};

struct native_part_stats {
	__u64 samples; /* samples with a native part */
	__u64 complete;
	__u64 truncated[NATIVE_REASON_CNT]; /* by how the chain ended */
	__u64 frames; /* native frames in records */
	__u64 names_put_off; /* of those that are shown: so many without a name that may come later */
	__u64 unknown; /* samples of processes whose mappings could not be read in time */
	__u64 kernel_samples, kernel_frames;
};

/* Both are borrowed; files: NULL if native frames are not wanted. NULL and errno on failure. */
struct native_part *native_part__new(const struct native_part_options *options,
				     struct native_files *files, struct dict *dict);
void native_part__free(struct native_part *m);

/* Reports places met for the first time to these (borrowed), if outputs want addresses. */
void native_part__keep_places(struct native_part *m, struct native_places *places);

/* Call when a process goes, while everything it consists of still exists. */
void native_part__process_gone(struct native_part *m, const struct process *p);
/* Names that no sample waits for. NULL: there are none. */
struct late_names *native_part__late_names(const struct native_part *m);

/* Reports changed mappings to this one (borrowed). */
void native_part__connect(struct native_part *m, struct unwinding *unwinding);

/*
 * Takes in a record. frames: the thread's own Python stack, root first; *ret: its frames and the
 * native ones, entry frames hidden. Returns 0 or -ENOMEM.
 */
int native_part__items(struct native_part *m, struct process *p, const struct record_sample *record,
		       const struct frame *frames, __u32 frame_cnt, struct items *ret)
	__attribute__((warn_unused_result));

/*
 * An item of the list made last that is not a Python frame: its frame in the profile. *ret_later: it
 * may get another name if it is asked for again.
 */
__u32 native_part__frame(struct native_part *m, const struct item *item, bool *ret_later);

const struct native_part_stats *native_part__stats(const struct native_part *m);
/* The name of a reason of truncation. */
const char *native_reason_name(enum native_reason reason);

#endif /* KRAIT_RECORD_SAMPLES_NATIVE_PART_H */
