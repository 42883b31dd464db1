/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_drawing.h - draws stacks as text and shows what join_stacks() makes of them.
 *
 * "m" is a Python frame, "E40" an entry frame at 40, "G40" an entry frame that greenlet has emptied
 * (root first); "i30" is a native frame of the interpreter whose caller's part begins at 30, "x20"
 * one of an extension, "c90" one of the C library, "g20" one of greenlet, "x-" one whose address is
 * unknown (leaf first); "x20~" one whose caller is a guess. The result is root first: Python frames
 * by index, native ones by letter and index, "k0" for the kernel, "!" for the truncation mark, "?"
 * for the mark of unknown frames.
 */
#ifndef KRAIT_TESTS_SUPPORT_DRAWING_H
#define KRAIT_TESTS_SUPPORT_DRAWING_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "record/stack/join.h"

#define DRAWN_MAX 64

struct drawing {
	const char *what, *python, *native, *result;
	const char *with_interpreter; /* likewise with all frames; NULL: not checked */
	__u32 kernel_cnt;
	bool broken; /* the chain does not end well */
	bool incomplete;
	__u32 evaluator; /* its index plus 1; 0: none */
	enum join_chain chain;
};

/* Each needs room for DRAWN_MAX. Returns how many there are. */
__u32 drawn_python(const char *text, struct frame *ret);
__u32 drawn_native(const char *text, struct native_frame *ret, __u8 *origins, bool *guessed);
void draw_items(char *ret, size_t size, const struct items *items, const __u8 *origins);
/* Is it a frame, or one that is being cleared, and not an entry frame? */
bool drawn_is_python(const struct item *item);
/* For join_input.kernel and .cut. */
extern const __u64 drawn_kernel[DRAWN_MAX];
#define DRAWN_CUT ITEM_NATIVE_DEPTH

/* Fails if any differs. */
void check_drawings(const struct drawing *d, size_t cnt);
#define CHECK(drawings) check_drawings(drawings, sizeof(drawings) / sizeof((drawings)[0]))

/* Five times Python calls C and C calls Python: eval at 20, 40, 60, 80, 100. */
#define FIVE_PYTHON "E5 E95 m E75 mm E55 m E35 m E15 mm"
#define FIVE_NATIVE "i20 x30 i40 i45 x50 i60 x65 x70 i80 x90 i100 c0"

#endif /* KRAIT_TESTS_SUPPORT_DRAWING_H */
