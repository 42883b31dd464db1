/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native_part.h - the native and kernel part of a sample: resolved, joined with Python, as frames of the
 * profile.
 *
 * Must hold: whatever the native part is like, the Python frames are in the result, in order.
 */
#ifndef KRAIT_SESSION_NATIVE_PART_H
#define KRAIT_SESSION_NATIVE_PART_H

#include <linux/types.h>
#include <stdbool.h>

#include "abi.h"
#include "profile/dict.h"
#include "stack/join.h"

struct kernel_symbols;
struct native_part;
struct native_files;
struct native_places;
struct process;
struct unwinding;

struct native_part_options {
	bool native, kernel; /* they are in the records */
	bool interpreter; /* show the interpreter's own frames */
	bool addresses; /* outputs want addresses: every place is a frame, not every function */
	bool late_names; /* with them: no output wants names before the end (late_names.h) */
	bool fetches; /* with those: servers are asked for the symbols of files that have none */
	bool sources,
		inlined; /* source lines are wanted, and inlined functions (native_places.h) */
	struct kernel_symbols *kernel_symbols; /* borrowed */
};

struct native_part_stats {
	__u64 samples; /* with a native part */
	__u64 complete;
	__u64 truncated[NATIVE_REASON_CNT]; /* by how the chain ended */
	__u64 frames; /* native ones that records carried */
	__u64 unknown; /* samples of processes whose mappings nobody could read in time */
	__u64 kernel_samples, kernel_frames;
};

/* Both are borrowed; files: NULL where no native frames are wanted. NULL and errno on failure. */
struct native_part *native_part__new(const struct native_part_options *options,
				     struct native_files *files, struct dict *dict);
void native_part__free(struct native_part *m);

/* Who is told of places that are met first, where outputs want addresses: borrowed. */
void native_part__keep_places(struct native_part *m, struct native_places *places);

/* A process goes, while what it is made of is still there. */
void native_part__process_gone(struct native_part *m, const struct process *p);
/* What was met has names from now on, as far as there is time for it. */
void native_part__name(struct native_part *m, __u64 until_ns);
/* As late_names__fetching() and late_names__stop_fetching(). */
unsigned native_part__fetching(const struct native_part *m);
void native_part__stop_fetching(struct native_part *m);
/* Of these places so many have no names, for want of time or of room. */
__u64 native_part__unnamed(const struct native_part *m);

/* Who is told of mappings that have changed: borrowed. */
void native_part__connect(struct native_part *m, struct unwinding *unwinding);

/*
 * Takes in a record. frames: the whole Python stack, root first. *ret: the merged stack, valid until
 * the next call. 0 or -ENOMEM.
 */
int native_part__join(struct native_part *m, struct process *p, const struct record_sample *record,
		      const struct frame *frames, __u32 frame_cnt, const struct join **ret)
	__attribute__((warn_unused_result));

/* Of the stack joined last. The address tells it from others; the frame is one of the profile. */
__u64 native_part__address(const struct native_part *m, const struct join_item *item);
__u32 native_part__frame(struct native_part *m, const struct join_item *item);

const struct native_part_stats *native_part__stats(const struct native_part *m);
/* What a reason of truncation is called. */
const char *native_reason_name(enum native_reason reason);

#endif /* KRAIT_SESSION_NATIVE_PART_H */
