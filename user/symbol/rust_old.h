/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rust_old.h - symbols of Rust's older mangling. It looks like C++, and what the C++ library makes of it has
 * a hash at its end and words for signs: "core::ptr::drop_in_place$LT$T$GT$::h0123456789abcdef".
 */
#ifndef KRAIT_SYMBOL_RUST_OLD_H
#define KRAIT_SYMBOL_RUST_OLD_H

#include <stdbool.h>

/* A demangled name becomes a path, in place. False: it is none of Rust's, and stays. */
bool rust_name_old(char *name) __attribute__((nonnull));

#endif /* KRAIT_SYMBOL_RUST_OLD_H */
