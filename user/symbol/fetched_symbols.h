/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fetched_symbols.h - symbols of a stripped file from a debuginfod server, for who reads a capture and has time.
 *
 * Must hold: it ends. A file is waited for FETCH_FILE_NS at most, all together FETCH_ALL_NS; a recording
 * never comes here.
 */
#ifndef KRAIT_SYMBOL_FETCHED_SYMBOLS_H
#define KRAIT_SYMBOL_FETCHED_SYMBOLS_H

#include <linux/types.h>

#define FETCH_FILE_NS 15000000000ULL
#define FETCH_ALL_NS 45000000000ULL

struct module;
struct native_files;

/* All zero at first. */
struct fetched_symbols {
	__u64 spent_ns;
};

/* If the file, which is open, has no symbols and a server has them, it has those from now on. */
void fetched_symbols_add(struct fetched_symbols *s, struct native_files *files,
			 struct module *module) __attribute__((nonnull));

#endif /* KRAIT_SYMBOL_FETCHED_SYMBOLS_H */
