/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rust_name.h - symbols of Rust as paths without hashes: "_RNvCs1234_7mycrate3foo" is mycrate::foo.
 *
 * The mangling is that of Rust's RFC 2603, the older one is rust_old.h's.
 *
 * Must hold: a symbol is anybody's. Time and memory are bounded, whatever refers to what in it.
 */
#ifndef KRAIT_SYMBOL_RUST_NAME_H
#define KRAIT_SYMBOL_RUST_NAME_H

/* From here on the arguments of a generic function are "::<…>". */
#define RUST_NAME_LONG 96

/* Allocated; NULL: none of that mangling, or out of memory. */
char *rust_name(const char *symbol) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_SYMBOL_RUST_NAME_H */
