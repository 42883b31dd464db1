/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_drawing.c - see support_drawing.h.
 */
#include "support_drawing.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

__u32 drawn_python(const char *text, struct frame *ret)
{
	__u32 cnt = 0;

	for (const char *s = text; *s; s++) {
		if (*s == 'm')
			ret[cnt++] = (struct frame){ .code_addr = 1, .frame_addr = 5 };
		else if (*s == 'z')
			ret[cnt++] = (struct frame){ 0 };
		else if (*s == 'E' || *s == 'G')
			ret[cnt++] = (struct frame){ .frame_addr = 2 * strtoul(s + 1, NULL, 10) +
								   (*s == 'G') };
	}
	return cnt;
}

__u32 drawn_native(const char *text, struct native_frame *ret, __u8 *origins, bool *guessed)
{
	__u32 cnt = 0;

	memset(guessed, 0, DRAWN_MAX * sizeof(*guessed));
	for (const char *s = text; *s; s++) {
		if (*s == '~')
			guessed[cnt - 1] = true;
		if (*s != 'i' && *s != 'x' && *s != 'c' && *s != 'g')
			continue;
		origins[cnt] = *s == 'i' ? ORIGIN_INTERPRETER :
			       *s == 'c' ? ORIGIN_LIBC :
			       *s == 'g' ? ORIGIN_SWITCHER :
					   ORIGIN_OTHER;
		ret[cnt].ip = 0x1000 + cnt;
		ret[cnt].frame_addr = s[1] == '-' ? 0 : 2 * strtoul(s + 1, NULL, 10);
		cnt++;
	}
	return cnt;
}

const __u64 drawn_kernel[DRAWN_MAX];

bool drawn_is_python(const struct item *item)
{
	return item->kind == ITEM_PYTHON || (item->kind == ITEM_HIDDEN && !item->frame.frame_addr);
}

static const char *draw_mark(enum item_mark mark)
{
	return mark == DRAWN_CUT	     ? "/" :
	       mark == ITEM_NATIVE_TRUNCATED ? "!" :
	       mark == ITEM_NATIVE_UNKNOWN   ? "?" :
					       "@";
}

void draw_items(char *ret, size_t size, const struct items *items, const __u8 *origins)
{
	static const char letters[] = { [ORIGIN_OTHER] = 'x',
					[ORIGIN_INTERPRETER] = 'i',
					[ORIGIN_LIBC] = 'c',
					[ORIGIN_SWITCHER] = 'g' };
	size_t len = 0;

	ret[0] = '\0';
	for (__u32 i = 0; i < items->cnt; i++) {
		const struct item *item = &items->list[i];
		const char *blank = len ? " " : "";

		if (item->kind == ITEM_MARK)
			len += snprintf(ret + len, size - len, "%s%s", blank,
					draw_mark((enum item_mark)item->frame.code_addr));
		else if (drawn_is_python(item))
			len += snprintf(ret + len, size - len, "%s%u", blank, item->index);
		else if (item->kind != ITEM_HIDDEN)
			len += snprintf(ret + len, size - len, "%s%c%u", blank,
					item->kind == ITEM_KERNEL ? 'k' :
								    letters[origins[item->index]],
					item->index);
	}
}

static void check(const struct drawing *d, bool interpreter, const char *expected)
{
	struct native_frame natives[DRAWN_MAX];
	struct frame frames[DRAWN_MAX];
	struct items items = { 0 };
	struct join j;
	__u8 origins[DRAWN_MAX];
	bool guessed[DRAWN_MAX];
	char result[512];
	struct join_input in = {
		.frames = frames,
		.frame_cnt = drawn_python(d->python, frames),
		.natives = natives,
		.native_cnt = drawn_native(d->native, natives, origins, guessed),
		.origins = origins,
		.guessed = guessed,
		.kernel = drawn_kernel,
		.kernel_cnt = d->kernel_cnt,
		.cut = DRAWN_CUT,
		.evaluator = d->evaluator ? d->evaluator - 1 : JOIN_NONE,
		.taken = true,
		.ended = !d->broken,
		.chain = d->chain,
		.interpreter = interpreter,
	};

	/* Twice with the same memory, as in real use. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(join_stacks(&in, &items, &j), 0);
		draw_items(result, sizeof(result), &items, origins);
		if (strcmp(result, expected))
			fail_msg("%s: got \"%s\", want \"%s\"", d->what, result, expected);
		if (j.complete == d->incomplete)
			fail_msg("%s: complete is %d", d->what, j.complete);
	}
	items_free(&items);
}

void check_drawings(const struct drawing *d, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		check(&d[i], false, d[i].result);
		if (d[i].with_interpreter)
			check(&d[i], true, d[i].with_interpreter);
	}
}
