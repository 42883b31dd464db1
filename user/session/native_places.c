/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/native_places.h"

#include <errno.h>
#include <stdlib.h>

#include "proc/modules.h"
#include "profile/frames.h"
#include "profile/parts.h"
#include "profile/profile.h"
#include "symbol/source_halves.h"
#include "symbol/source_lines.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/vec.h"

/* Offsets per question. */
#define BATCH 64U

struct native_place_met {
	const struct module *module;
	__u64 offset;
	__u32 frame;
};

struct native_places {
	struct source_lines *lines;
	struct native_place_met *list;
	__u32 cnt, cap;
	bool inlined;
};

struct native_places *native_places__new(struct native_files *files, bool inlined)
{
	struct native_places *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->inlined = inlined;
	n->lines = source_lines__new(files);
	if (n->lines)
		return n;
	free(n);
	return NULL;
}

void native_places__free(struct native_places *n)
{
	if (!n)
		return;
	source_lines__free(n->lines);
	free(n->list);
	free(n);
}

void native_places__prepare(struct native_places *n)
{
	source_lines__prepare(n->lines);
}

void native_places__add(struct native_places *n, __u32 frame, const struct module *module,
			__u64 offset)
{
	if (!frame || n->cnt == NATIVE_PLACES_MAX || vec_reserve(n->list, n->cap, n->cnt + 1))
		return;
	n->list[n->cnt++] = (struct native_place_met){ module, offset, frame };
}

static int by_module(const void *a, const void *b)
{
	const struct native_place_met *x = a, *y = b;

	if (x->module != y->module)
		return module__number(x->module) < module__number(y->module) ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static int keep(struct native_places *n, struct dict *d, __u32 number, __u32 frame)
{
	const struct profile_frame *f = dict__frame_at(d, frame);
	const struct native_place place = { .name = dict__text(d, f->name),
					    .path = dict__text(d, f->file),
					    .is_wrapper = f->wrapper };
	struct source_frame frames[SOURCE_FRAMES_MAX];
	struct part_line lines[SOURCE_FRAMES_MAX];
	unsigned cnt = source_lines__at(n->lines, number, frames);

	for (unsigned i = 0; i < cnt; i++)
		lines[i] = (struct part_line){ frames[i].name, frames[i].file, frames[i].line };
	return parts_add(d, frame, &place, lines, cnt, n->inlined);
}

/* Reads some places from number i on, all in one file. Returns how many are done. */
static __u32 read_some(struct native_places *n, struct dict *d, __u32 i)
{
	const struct module *module = n->list[i].module;
	__u64 offsets[BATCH];
	__u32 cnt = 0;
	int got;

	for (; cnt < BATCH && i + cnt < n->cnt && n->list[i + cnt].module == module; cnt++)
		offsets[cnt] = n->list[i + cnt].offset;
	got = source_lines__find(n->lines, module, offsets, cnt);
	for (int k = 0; k < got; k++) {
		if (keep(n, d, (__u32)k, n->list[i + (__u32)k].frame))
			return n->cnt;
	}
	return got > 0 ? (__u32)got : cnt;
}

void native_places__resolve(struct native_places *n, struct profile *p)
{
	__u64 end_ns = clock_monotonic_ns() + NATIVE_PLACES_TIME_NS;
	__u32 i = 0;

	qsort(n->list, n->cnt, sizeof(*n->list), by_module);
	dict__begin(p->dict, 0);
	while (i < n->cnt && clock_monotonic_ns() < end_ns)
		i += read_some(n, p->dict, i);
	if (i < n->cnt)
		log_info(
			NULL,
			"%u of %u places in native code are left without source lines: reading debug information "
			"takes too long",
			n->cnt - i, n->cnt);
	if (n->inlined)
		source_halves__say_missing(source_lines__halves(n->lines));
	if (parts_expand(p))
		log_warn(NULL, "out of memory: functions that were inlined are not shown");
}
