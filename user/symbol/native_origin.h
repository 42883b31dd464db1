/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native_origin.h - whose code a native frame is in.
 */
#ifndef KRAIT_SYMBOL_NATIVE_ORIGIN_H
#define KRAIT_SYMBOL_NATIVE_ORIGIN_H

enum native_origin {
	ORIGIN_OTHER, /* extensions, libraries, an application that embeds Python */
	ORIGIN_INTERPRETER,
	ORIGIN_LIBC, /* at the root: how processes and threads begin */
};

#endif /* KRAIT_SYMBOL_NATIVE_ORIGIN_H */
