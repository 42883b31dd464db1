/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rust_old.h - symbols of Rust's older mangling. It looks like C++; after the C++ library's
 * demangling it still has a hash at its end and words in place of symbols:
 * "core::ptr::drop_in_place$LT$T$GT$::h0123456789abcdef".
 */
#ifndef KRAIT_SYMBOL_RUST_OLD_H
#define KRAIT_SYMBOL_RUST_OLD_H

#include <stdbool.h>

/* Turns a demangled name into a path, in place. False: not a Rust name; unchanged. */
bool rust_name_old(char *name) __attribute__((nonnull));

#endif /* KRAIT_SYMBOL_RUST_OLD_H */
