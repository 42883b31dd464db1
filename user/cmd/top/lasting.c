/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/lasting.h"

#include <stdlib.h>
#include <uthash.h>

/* Looks for which we remember a wait that they no longer saw: its final sample is on its way. */
#define LOOKS_KEPT 3

struct wait {
	__u32 thread; /* profile_sample.thread */
	__u64 until_ns; /* counted so far */
	__u64 look; /* the last look that saw it */
	UT_hash_handle hh;
};

struct lasting {
	struct wait *waits;
	__u64 look;
	bool looking;
};

struct lasting *lasting__new(void)
{
	return calloc(1, sizeof(struct lasting));
}

static void drop(struct lasting *l, struct wait *w)
{
	HASH_DEL(l->waits, w);
	free(w);
}

void lasting__free(struct lasting *l)
{
	struct wait *w, *next;

	if (!l)
		return;
	HASH_ITER(hh, l->waits, w, next)
		drop(l, w);
	free(l);
}

void lasting__begin(struct lasting *l)
{
	l->look++;
	l->looking = true;
}

void lasting__end(struct lasting *l)
{
	struct wait *w, *next;

	l->looking = false;
	HASH_ITER(hh, l->waits, w, next)
		if (w->look + LOOKS_KEPT <= l->look)
			drop(l, w);
}

static struct wait *find(const struct lasting *l, __u32 thread)
{
	struct wait *w;

	HASH_FIND(hh, l->waits, &thread, sizeof(thread), w);
	return w;
}

static struct wait *add(struct lasting *l, __u32 thread)
{
	struct wait *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->thread = thread;
	HASH_ADD(hh, l->waits, thread, sizeof(w->thread), w);
	return w;
}

bool lasting__count(struct lasting *l, struct profile_sample *sample)
{
	const __u64 from_ns = sample->from_ns ? sample->from_ns : sample->time_ns - sample->period;
	const __u64 to_ns = sample->time_ns;
	struct wait *w = find(l, sample->thread);
	__u64 counted_ns = 0;

	if (w && w->until_ns > from_ns)
		counted_ns = (w->until_ns < to_ns ? w->until_ns : to_ns) - from_ns;
	/* A wait that we cannot remember counts when it ends. */
	if (l->looking && !w && !(w = add(l, sample->thread)))
		return false;
	if (l->looking) {
		w->look = l->look;
		if (w->until_ns < to_ns)
			w->until_ns = to_ns;
	}
	sample->period = sample->period > counted_ns ? sample->period - counted_ns : 0;
	return sample->period;
}
