/* SPDX-License-Identifier: BSD-2-Clause */
#include "emit/emitter.h"

#include <errno.h>
#include <stdlib.h>

int emitter_open(struct emitter **ret, FILE *out, const struct emit_options *options)
{
	struct emitter *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	*e = (struct emitter){ .out = out, .options = options };
	*ret = e;
	return 0;
}

void emitter_free(struct emitter *e)
{
	free(e);
}
