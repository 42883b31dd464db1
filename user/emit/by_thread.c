/* SPDX-License-Identifier: BSD-2-Clause */
#include "emit/by_thread.h"

#include <errno.h>
#include <stdlib.h>

int by_thread_open(struct emitter **ret, FILE *out, const struct emit_options *options)
{
	struct emitter *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->out = out;
	e->options = options;
	e->timeline = timeline__new();
	if (!e->timeline) {
		free(e);
		return -ENOMEM;
	}
	*ret = e;
	return 0;
}

int by_thread_sample(struct emitter *e, const struct profile *p, const struct profile_sample *s)
{
	return timeline__add(e->timeline, s);
}

void by_thread_free(struct emitter *e)
{
	if (!e)
		return;
	timeline__free(e->timeline);
	free(e);
}
