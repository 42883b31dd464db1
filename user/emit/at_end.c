/* SPDX-License-Identifier: BSD-2-Clause */
#include "emit/at_end.h"

#include <errno.h>
#include <stdlib.h>

int at_end_open(struct emitter **ret, FILE *out, const struct emit_options *options)
{
	struct emitter *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->out = out;
	e->options = options;
	*ret = e;
	return 0;
}

void at_end_free(struct emitter *e)
{
	free(e);
}
