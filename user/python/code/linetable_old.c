/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linetable_old.c - see linetable_old.h.
 */
#include "python/code/linetable_old.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* An entry's first byte: bit 7, the form in bits 6..3, units minus one in bits 2..0. */
#define HEAD(form, units) ((__u8)(0x80 | (form) << 3 | ((units)-1)))
#define FORM_NO_COLUMNS 13
#define FORM_NONE 15
#define UNITS_MAX 8
/* The first byte, and a number of 32 bits in groups of 6. */
#define ENTRY_MAX 7
#define NO_LINE (-128)

struct writer {
	__u8 *bytes;
	size_t size, cap;
	__u32 unit; /* where the next entry begins */
	__s64 line, written; /* relative to the first line: current, and at the last entry */
	bool failed; /* out of memory */
	bool full;
};

static bool reserve(struct writer *w)
{
	size_t cap = w->cap ? 2 * w->cap : 64;
	__u8 *bytes;

	if (w->cap - w->size >= ENTRY_MAX)
		return true;
	w->full = w->size + ENTRY_MAX > LINETABLE_OLD_MAX_SZ;
	bytes = w->full ? NULL : realloc(w->bytes, cap);
	if (!bytes) {
		w->failed = !w->full;
		return false;
	}
	w->bytes = bytes;
	w->cap = cap;
	return true;
}

/* The sign is bit 0. */
static void put_delta(struct writer *w, __s64 delta)
{
	__u64 value = delta < 0 ? (__u64)-delta << 1 | 1 : (__u64)delta << 1;

	for (; value > 63; value >>= 6)
		w->bytes[w->size++] = 64 | (value & 63);
	w->bytes[w->size++] = (__u8)value;
}

/* Gives the units up to end the current line, or none. */
static void put_until(struct writer *w, __u32 end, bool has_line)
{
	while (w->unit < end && reserve(w)) {
		__u32 units = end - w->unit < UNITS_MAX ? end - w->unit : UNITS_MAX;

		w->bytes[w->size++] = HEAD(has_line ? FORM_NO_COLUMNS : FORM_NONE, units);
		if (has_line) {
			put_delta(w, w->line - w->written);
			w->written = w->line;
		}
		w->unit += units;
	}
}

static int finish(struct writer *w, __u8 **ret, __u32 *ret_size)
{
	if (w->failed) {
		free(w->bytes);
		return -ENOMEM;
	}
	*ret = w->bytes;
	*ret_size = (__u32)w->size;
	return 0;
}

/* A unit has two bytes, and the line of its first byte. */
static __u32 unit_at(__u64 address)
{
	return (__u32)((address + 1) / 2);
}

int linetable_from_lnotab(const __u8 *bytes, __u32 size, __u32 code_size, __u8 **ret,
			  __u32 *ret_size)
{
	struct writer w = { 0 };
	__u64 address = 0;

	for (__u32 i = 0; i + 1 < size && address < code_size && !w.full && !w.failed; i += 2) {
		__s8 lines = (__s8)bytes[i + 1];

		address += bytes[i];
		if (address > code_size)
			address = code_size;
		/* Long steps are split into pieces without lines; here they become one entry. */
		if (lines)
			put_until(&w, unit_at(address), true);
		w.line += lines;
	}
	put_until(&w, unit_at(code_size), true);
	return finish(&w, ret, ret_size);
}

int linetable_from_3_10(const __u8 *bytes, __u32 size, __u8 **ret, __u32 *ret_size)
{
	struct writer w = { 0 };
	__u64 address = 0;

	for (__u32 i = 0; i + 1 < size && !w.full && !w.failed; i += 2) {
		__s8 lines = (__s8)bytes[i + 1];

		address += bytes[i];
		if (lines != NO_LINE)
			w.line += lines;
		put_until(&w, unit_at(address), lines != NO_LINE);
	}
	return finish(&w, ret, ret_size);
}
