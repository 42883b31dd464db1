/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * origin.h - whose code a frame is, judging by its file: "application", "stdlib", "interpreter",
 * "libc", "kernel", a package of site-packages ("numpy", for both its Python and its C), or a
 * library ("libcrypto").
 *
 * Must hold: uses only paths, so a capture gives the same result wherever it is read.
 */
#ifndef KRAIT_PROFILE_ORIGIN_H
#define KRAIT_PROFILE_ORIGIN_H

#include "profile/dict.h"

#define ORIGIN_NAME_SIZE 64

/* file, name: the frame's texts. A longer name is truncated. */
void origin_name(char ret[ORIGIN_NAME_SIZE], const struct profile_frame *f, const char *file,
		 const char *name) __attribute__((nonnull));

#endif /* KRAIT_PROFILE_ORIGIN_H */
