/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_drawing.h - stacks that are drawn, and what join_stacks() makes of them.
 *
 * "m" is a Python frame, "E40" an entry frame at 40, "G40" one of which greenlet has left nothing (root first); "i30" a native frame of the
 * interpreter whose caller's part begins at 30, "x20" one of an extension, "c90" one of the C library, "g20" one of
 * greenlet, "x-" one of which that is not known (leaf first); "x20~" one whose caller is a guess. The
 * result is written root first: Python frames by their index, native ones by letter and index, "k0" of the
 * kernel, "!" the mark of what is truncated, "?" that of what is unknown.
 */
#ifndef KRAIT_TESTS_SUPPORT_DRAWING_H
#define KRAIT_TESTS_SUPPORT_DRAWING_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "stack/join.h"

#define DRAWN_MAX 64

struct drawing {
	const char *what, *python, *native, *result;
	const char *with_interpreter; /* the same with all frames; NULL not looked at */
	__u32 kernel_cnt;
	bool broken; /* the chain has no good end */
	bool incomplete;
	__u32 evaluator; /* one more than its index; 0 none */
	enum join_chain chain;
};

/* Each has room for DRAWN_MAX. How many there are. */
__u32 drawn_python(const char *text, struct frame *ret);
__u32 drawn_native(const char *text, struct native_frame *ret, __u8 *origins, bool *guessed);
void draw_join(char *ret, size_t size, const struct join *j, const __u8 *origins);

/* Fails where one is not what it must be. */
void check_drawings(const struct drawing *d, size_t cnt);
#define CHECK(drawings) check_drawings(drawings, sizeof(drawings) / sizeof((drawings)[0]))

/* Five times Python calls C and C calls Python: eval at 20, 40, 60, 80, 100. */
#define FIVE_PYTHON "E5 E95 m E75 mm E55 m E35 m E15 mm"
#define FIVE_NATIVE "i20 x30 i40 i45 x50 i60 x65 x70 i80 x90 i100 c0"

#endif /* KRAIT_TESTS_SUPPORT_DRAWING_H */
