/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/formats/pprof_columns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/states.h"

void pprof_columns_free(struct pprof_columns *c)
{
	for (unsigned i = 0; i < c->name_cnt; i++)
		free(c->names[i]);
	free(c->names);
	counts__free(c->gil_waits);
	free(c->list);
}

static int64_t add_name(struct pprof_columns *c, const char *name, const char *suffix)
{
	char text[EVENT_NAME_MAX + 32];

	snprintf(text, sizeof(text), "%s%s", name, suffix);
	c->names[c->name_cnt] = strdup(text);
	if (!c->names[c->name_cnt])
		c->failed = true;
	return STRING_COLUMNS + (int64_t)c->name_cnt++;
}

static void add_column(struct pprof_columns *c, const struct counts *counts, bool weight,
		       int64_t type)
{
	const bool time = weight && event_is_time(&counts->event);

	c->list[c->cnt++] = (struct pprof_column){ counts, weight, type,
						   time ? STRING_NANOSECONDS : STRING_COUNT };
}

static void add_off_cpu(struct pprof_columns *c, const struct counts *counts)
{
	if (!c->gil_waits)
		c->gil_waits = counts__new_of_label(counts, state_name(STATE_GIL));
	if (!c->gil_waits) {
		c->failed = true;
		return;
	}
	add_column(c, counts, false, add_name(c, "off-cpu", "-samples"));
	add_column(c, counts, true, add_name(c, "off-cpu", ""));
	add_column(c, c->gil_waits, true, add_name(c, "gil-wait", ""));
}

/* Tells whether the only other event is time off the CPU, if any. */
static bool is_plain_clock(const struct profile *p, unsigned event)
{
	for (unsigned i = 0; i < p->event_cnt; i++) {
		if (i != event && !event_is_off_cpu(&profile__counts(p, i)->event))
			return false;
	}
	return event_is_clock(&profile__counts(p, event)->event);
}

/*
 * A clock has "samples" and "cpu", as in Go; time off the CPU has "off-cpu-samples", "off-cpu" and
 * "gil-wait". Other events have names like "page-faults-samples" and "page-faults". Only events
 * with samples get columns.
 */
int pprof_columns_choose(struct pprof_columns *c, const struct profile *p)
{
	unsigned cnt = p->event_cnt;

	c->list = calloc((size_t)cnt * 3, sizeof(*c->list));
	c->names = calloc((size_t)cnt * 3, sizeof(*c->names));
	if (!c->list || !c->names)
		return -ENOMEM;
	for (unsigned i = 0; i < cnt; i++) {
		const struct counts *e = profile__counts(p, i);
		const bool plain = is_plain_clock(p, i);

		if (cnt > 1 && !e->samples)
			continue;
		if (event_is_off_cpu(&e->event)) {
			add_off_cpu(c, e);
			continue;
		}
		add_column(c, e, false,
			   plain ? STRING_SAMPLES : add_name(c, e->event.name, "-samples"));
		add_column(c, e, true, plain ? STRING_CPU : add_name(c, e->event.name, ""));
	}
	return c->failed ? -ENOMEM : 0;
}
