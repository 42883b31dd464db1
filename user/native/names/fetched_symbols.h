/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fetched_symbols.h - symbols of stripped files from a debuginfod server, for commands that read a
 * capture and have time.
 *
 * Must hold: bounded waits: at most FETCH_FILE_NS per file, FETCH_ALL_NS in total; a recording
 * never calls this.
 */
#ifndef KRAIT_NATIVE_NAMES_FETCHED_SYMBOLS_H
#define KRAIT_NATIVE_NAMES_FETCHED_SYMBOLS_H

#include <linux/types.h>

#define FETCH_FILE_NS 15000000000ULL
#define FETCH_ALL_NS 45000000000ULL

struct module;
struct native_files;

/* All zero initially. */
struct fetched_symbols {
	__u64 spent_ns;
};

/* If the open file has no symbols but a server does, the file has those from now on. */
void fetched_symbols_add(struct fetched_symbols *s, struct native_files *files,
			 struct module *module) __attribute__((nonnull));

#endif /* KRAIT_NATIVE_NAMES_FETCHED_SYMBOLS_H */
