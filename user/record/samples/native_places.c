/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/native_places.h"

#include <errno.h>
#include <stdlib.h>

#include "process/space/modules.h"
#include "profile/frames.h"
#include "profile/parts.h"
#include "profile/profile.h"
#include "native/names/source_lines.h"
#include "base/data/compare.h"
#include "base/system/clock.h"
#include "base/text/log.h"
#include "base/share/owner_turns.h"
#include "base/data/vec.h"

/* Offsets per question. */
#define BATCH 64U
/*
 * Questions of one owner until another has its turn: there are fewer parsers than there may be owners, and one that is
 * started anew reads its files anew.
 */
#define TURN_NS NS_PER_SEC

struct native_place_met {
	const struct module *module;
	__u64 offset;
	__u32 frame;
	uid_t owner; /* of its file, when it is asked for */
};

struct native_places {
	struct source_lines *lines;
	struct native_place_met *list;
	__u32 cnt, cap;
	__u32 refused; /* that were not to be read */
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

static int by_owner(const void *a, const void *b)
{
	const struct native_place_met *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	if (x->module != y->module)
		return module__number(x->module) < module__number(y->module) ? -1 : 1;
	return compare_numbers(x->offset, y->offset);
}

static int keep(struct native_places *n, struct dict *d, __u32 number, __u32 frame)
{
	const struct profile_frame *f = dict__frame_at(d, frame);
	const struct native_place place = { .name = dict__text(d, f->name),
					    .path = dict__text(d, f->file),
					    .is_wrapper = f->wrapper,
					    .is_interpreter = f->interpreter };
	struct source_frame frames[SOURCE_FRAMES_MAX];
	unsigned cnt = source_lines__at(n->lines, number, frames);

	return parts_add(d, frame, &place, frames, cnt, n->inlined);
}

/* Reads some places of an owner, all in one file. -ENOMEM: there is no room for the result. */
static int read_some(struct native_places *n, struct dict *d, struct owner_turn *turn)
{
	const struct native_place_met *list = &n->list[turn->next];
	__u32 cnt = 0, left = turn->end - turn->next;
	__u64 offsets[BATCH];
	int got;

	for (; cnt < BATCH && cnt < left && list[cnt].module == list[0].module; cnt++)
		offsets[cnt] = list[cnt].offset;
	got = source_lines__find(n->lines, list[0].module, offsets, cnt);
	for (int k = 0; k < got; k++) {
		if (keep(n, d, (__u32)k, list[k].frame))
			return -ENOMEM;
	}
	turn->next += got > 0 ? (__u32)got : cnt;
	/* Their owner has had its share. */
	if (got == -EAGAIN)
		n->refused += cnt;
	return 0;
}

/* Until that time at most. -ENOMEM: there is no room for more. */
static int take_turn(struct native_places *n, struct dict *d, struct owner_turns *turns,
		     struct owner_turn *turn, __u64 end_ns)
{
	__u64 begin_ns = clock_monotonic_ns(), now_ns = begin_ns;
	int err = 0;

	if (end_ns > begin_ns + TURN_NS)
		end_ns = begin_ns + TURN_NS;
	while (now_ns < end_ns && turn->next < turn->end && !err) {
		err = read_some(n, d, turn);
		now_ns = clock_monotonic_ns();
	}
	owner_turns_note(turns, turn, now_ns - begin_ns);
	return err;
}

static void sort(struct native_places *n, struct owner_turns *turns)
{
	for (__u32 i = 0; i < n->cnt; i++)
		n->list[i].owner = source_lines__owner(n->lines, n->list[i].module);
	qsort(n->list, n->cnt, sizeof(*n->list), by_owner);
	for (__u32 i = 0; i < n->cnt; i++)
		owner_turns_add(turns, n->list[i].owner);
}

void native_places__resolve(struct native_places *n, struct profile *p)
{
	__u64 end_ns = clock_monotonic_ns() + NATIVE_PLACES_TIME_NS;
	struct owner_turns turns = { 0 };
	struct owner_turn *turn;
	__u32 left;
	int err = 0;

	sort(n, &turns);
	dict__begin(p->dict, 0);
	while (!err && clock_monotonic_ns() < end_ns && (turn = owner_turns_next(&turns)))
		err = take_turn(n, p->dict, &turns, turn, end_ns);
	left = owner_turns_left(&turns) + n->refused;
	if (!err && left)
		log_info(
			NULL,
			"%u of %u places in native code are left without source lines: reading debug information "
			"takes too long",
			left, n->cnt);
	if (n->inlined)
		source_lines__say_missing(n->lines);
	if (parts_expand(p))
		log_warn(NULL, "out of memory: functions that were inlined are not shown");
}
