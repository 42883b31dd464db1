/* SPDX-License-Identifier: BSD-2-Clause */
#include "emit/pprof_columns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pprof_columns_free(struct pprof_columns *c)
{
	for (unsigned i = 0; i < c->name_cnt; i++)
		free(c->names[i]);
	free(c->names);
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

/*
 * Of a clock alone: "samples" and "cpu", as Go has them. Else "page-faults-samples" and
 * "page-faults", for each event that has samples.
 */
int pprof_columns_choose(struct pprof_columns *c, const struct profile *p)
{
	unsigned cnt = p->event_cnt;

	c->list = calloc((size_t)cnt * 2, sizeof(*c->list));
	c->names = calloc((size_t)cnt * 2, sizeof(*c->names));
	if (!c->list || !c->names)
		return -ENOMEM;
	for (unsigned i = 0; i < cnt; i++) {
		const struct counts *e = profile__counts(p, i);
		bool clock = event_is_clock(&e->event), plain = cnt == 1 && clock;

		if (cnt > 1 && !e->samples)
			continue;
		c->list[c->cnt++] = (struct pprof_column){
			i, false, plain ? STRING_SAMPLES : add_name(c, e->event.name, "-samples"),
			STRING_COUNT
		};
		c->list[c->cnt++] =
			(struct pprof_column){ i, true,
					       plain ? STRING_CPU : add_name(c, e->event.name, ""),
					       clock ? STRING_NANOSECONDS : STRING_COUNT };
	}
	return c->failed ? -ENOMEM : 0;
}
