/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/import/code_listing.h"

#include <stdlib.h>
#include <string.h>

#include "capture/dso/dso.h"
#include "capture/dso/dso_reader.h"
#include "profile/dict.h"
#include "profile/opcodes.h"
#include "base/data/compare.h"

#define UNKNOWN_UNITS 0
/*
 * A capture is untrusted: limits for the units to look at, in total and per function (no more were
 * read).
 */
#define UNITS_MAX (4U << 20)
#define FUNCTION_UNITS_MAX 32768U

static int compare(const void *x, const void *y)
{
	const struct code_place *a = x, *b = y;

	return compare_numbers(a->reader, b->reader) ?: compare_numbers(a->offset, b->offset);
}

/*
 * Code units of an instruction including its caches; UNKNOWN_UNITS: it hides another instruction,
 * or is none.
 */
static __u32 unit_cnt(__u16 opcode)
{
	const struct opcode_info *info = opcode_info(opcode);

	if (!info || info->form == OPCODE_JIT || !strcmp(info->name, "INSTRUMENTED_LINE") ||
	    !strcmp(info->name, "INSTRUMENTED_INSTRUCTION"))
		return UNKNOWN_UNITS;
	return 1U + info->caches;
}

static void list_one(struct dict *dict, struct dso_reader *reader, __u64 offset, __u16 opcode)
{
	struct profile_frame frame;

	if (!dso_reader__find(reader, dict, offset, &frame) || frame.kind == FRAME_MARK ||
	    frame.line <= 0 || frame.unit < 0)
		return;
	frame.opcode = opcode;
	dict__frame(dict, &frame);
}

/* The first cnt places belong to the same function. left: units that may still be looked at. */
static void list_function(struct dict *dict, const struct code_place *places, __u32 cnt,
			  const struct dso_extent *at, __u32 *left)
{
	const __u32 version = 3U << 24 | opcode_minor(places[0].opcode) << 16;
	__u64 offset = at->start, next;
	__u32 i = 0;

	for (; offset < at->end && *left; offset = next, --*left) {
		const __u8 byte = dso_reader__opcode(places[0].reader, offset);
		__u16 opcode = byte ? opcode_of(version, byte) : 0;
		__u32 units;

		while (i < cnt && places[i].offset < offset)
			i++;
		if (i < cnt && places[i].offset == offset)
			opcode = opcode ? opcode : places[i].opcode;
		else if (opcode && unit_cnt(opcode))
			list_one(dict, places[0].reader, offset, opcode);
		units = unit_cnt(opcode);
		next = offset + (__u64)DSO_SLOT * units;
		if (units)
			continue;
		while (i < cnt && places[i].offset <= offset)
			i++;
		next = i < cnt ? places[i].offset : at->end;
	}
}

void code_list(struct dict *dict, struct code_place *places, __u32 cnt)
{
	struct dso_extent at;
	__u32 end, left = UNITS_MAX;

	qsort(places, cnt, sizeof(*places), compare);
	for (__u32 i = 0; i < cnt; i = end) {
		end = i + 1;
		if (!dso_reader__extent(places[i].reader, places[i].offset, &at))
			continue;
		while (end < cnt && places[end].reader == places[i].reader &&
		       places[end].offset < at.end)
			end++;
		if ((at.end - at.start) / DSO_SLOT <= FUNCTION_UNITS_MAX + 2)
			list_function(dict, places + i, end - i, &at, &left);
	}
}
