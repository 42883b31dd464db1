/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * late_names.h - names places in native code while no sample waits for the names: many in one
 * question, and soon, because the process that has the file may be gone a moment later.
 *
 * Until then a frame has the name of all unnamed code in its file, "[libfoo.so]", and keeps it if
 * no symbol is found. The file itself is open from the first sample on (native__meet()). A file
 * without symbols may get some from a debuginfod server (symbol_fetches.h): its places wait for
 * those.
 *
 * Must hold: the dictionary forgets nothing meanwhile; unanswered questions are asked again until
 * the end.
 */
#ifndef KRAIT_RECORD_SAMPLES_LATE_NAMES_H
#define KRAIT_RECORD_SAMPLES_LATE_NAMES_H

#include <linux/types.h>
#include <stdbool.h>

struct dict;
struct late_names;
struct module;
struct native;
struct native_files;

/* Both are borrowed; fetches: ask servers. NULL: out of memory. */
struct late_names *late_names__new(struct native_files *files, struct dict *dict, bool fetches)
	__attribute__((warn_unused_result, nonnull));
void late_names__free(struct late_names *l);

/* Adds a frame for a place met for the first time, in a process with these natives. */
void late_names__add(struct late_names *l, __u32 frame, struct native *native,
		     struct module *module, __u64 offset) __attribute__((nonnull));

/* The process is going: opens now what only this process makes accessible. native: may be NULL. */
void late_names__forget(struct late_names *l, const struct native *native)
	__attribute__((nonnull(1)));

/* For the functions below l may be NULL: then there is nothing to name. */

/* Asks for all names, until until_ns (CLOCK_MONOTONIC). */
void late_names__resolve(struct late_names *l, __u64 until_ns);

/* Files whose symbols servers have yet to send; none after late_names__stop_fetching(). */
unsigned late_names__fetching(const struct late_names *l);
void late_names__stop_fetching(struct late_names *l);

/* Places that have no names yet, or whose names found no room. */
__u64 late_names__unnamed(const struct late_names *l);

#endif /* KRAIT_RECORD_SAMPLES_LATE_NAMES_H */
