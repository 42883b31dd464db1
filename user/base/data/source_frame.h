/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_frame.h - a function at an address and its line, from DWARF or from a capture.
 */
#ifndef KRAIT_BASE_DATA_SOURCE_FRAME_H
#define KRAIT_BASE_DATA_SOURCE_FRAME_H

/* Nested functions at one address; more are left out, towards the leaf. */
#define SOURCE_FRAMES_MAX 32U

/* One function at an address; the first has the symbol, the others are inlined in it. */
struct source_frame {
	const char *name; /* NULL if unknown, and for the first, which uses the symbol's */
	const char *file; /* NULL: unknown */
	int line; /* current line, or the line where the next function was inlined; 0: unknown */
};

#endif /* KRAIT_BASE_DATA_SOURCE_FRAME_H */
