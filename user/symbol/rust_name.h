/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rust_name.h - symbols of Rust as paths without hashes: "_RNvCs1234_7mycrate3foo" is mycrate::foo.
 *
 * The newer mangling is that of Rust's RFC 2603. The older one looks like C++, and what the C++ library makes
 * of it has a hash at its end and words for signs.
 *
 * Must hold: a symbol is anybody's. Time and memory are bounded, whatever refers to what in it.
 */
#ifndef KRAIT_SYMBOL_RUST_NAME_H
#define KRAIT_SYMBOL_RUST_NAME_H

#include <stdbool.h>

/* From here on the arguments of a generic function are "::<…>". */
#define RUST_NAME_LONG 96

/* Allocated; NULL: none of the newer mangling, or out of memory. */
char *rust_name(const char *symbol) __attribute__((warn_unused_result, nonnull));

/* A demangled name of the older one becomes a path, in place. False: it is none, and stays. */
bool rust_name_old(char *name) __attribute__((nonnull));

#endif /* KRAIT_SYMBOL_RUST_NAME_H */
