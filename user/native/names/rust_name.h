/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rust_name.h - symbols of Rust as paths without hashes: "_RNvCs1234_7mycrate3foo" is mycrate::foo.
 *
 * Handles the mangling of Rust's RFC 2603; demangle.c handles the older one.
 *
 * Must hold: a symbol is untrusted. Time and memory are bounded, whatever back references it
 * contains.
 */
#ifndef KRAIT_NATIVE_NAMES_RUST_NAME_H
#define KRAIT_NATIVE_NAMES_RUST_NAME_H

/* From this length on the arguments of a generic function become "::<…>". */
#define RUST_NAME_LONG 96

/* Allocated; NULL: not in that mangling, or out of memory. */
char *rust_name(const char *symbol) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_NATIVE_NAMES_RUST_NAME_H */
