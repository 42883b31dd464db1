/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native_places.h - collects the places in native code that a recording has met, for their source
 * lines and inlined functions.
 *
 * DWARF is read after the recording: no sample waits for it, and the files are still open even if
 * they were removed meanwhile. Until then a place costs 24 bytes.
 *
 * Must hold: reading ends after NATIVE_PLACES_TIME_NS, whatever the files contain; what was not
 * read has no lines. Owners of files take turns (base/share/owner_turns.h): the files of one do not take the time of others.
 */
#ifndef KRAIT_RECORD_SAMPLES_NATIVE_PLACES_H
#define KRAIT_RECORD_SAMPLES_NATIVE_PLACES_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

/* As many as a capture can carry names. */
#define NATIVE_PLACES_MAX 65536U
#define NATIVE_PLACES_TIME_NS 20000000000ULL

struct module;
struct native_files;
struct native_places;
struct profile;

/* files: borrowed. inlined: inlined functions are wanted, not just lines. NULL: out of memory. */
struct native_places *native_places__new(struct native_files *files, bool inlined)
	__attribute__((warn_unused_result, nonnull));
void native_places__free(struct native_places *n);
/* Starts what it takes to start parsers, while krait still has all its rights. */
void native_places__prepare(struct native_places *n) __attribute__((nonnull));

/* Adds a frame for a place met for the first time. */
void native_places__add(struct native_places *n, __u32 frame, const struct module *module,
			__u64 offset) __attribute__((nonnull));

/*
 * Reads all lines, makes them the parts of their frames, and counts samples at these parts
 * (profile/parts.h). Logs how many places got no lines because time ran out.
 */
void native_places__resolve(struct native_places *n, struct profile *p) __attribute__((nonnull));

#endif /* KRAIT_RECORD_SAMPLES_NATIVE_PLACES_H */
