/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * origin.h - whose code a frame is, by where its file lies: "application", "stdlib", "interpreter", "libc",
 * "kernel", a package of site-packages (its Python and its C alike: "numpy"), or a library ("libcrypto").
 *
 * Must hold: it goes by paths alone, so a capture says the same wherever it is read.
 */
#ifndef KRAIT_PROFILE_ORIGIN_H
#define KRAIT_PROFILE_ORIGIN_H

#include "profile/dict.h"

#define ORIGIN_NAME_SIZE 64

/* file, name: the frame's texts. A longer name is cut. */
void origin_name(char ret[ORIGIN_NAME_SIZE], enum frame_kind kind, const char *file,
		 const char *name) __attribute__((nonnull));

#endif /* KRAIT_PROFILE_ORIGIN_H */
