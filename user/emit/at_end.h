/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * at_end.h - what emitters have in common that do all in finish(), from the profile alone.
 */
#ifndef KRAIT_EMIT_AT_END_H
#define KRAIT_EMIT_AT_END_H

#include "emit/emitter.h"

struct emitter {
	FILE *out;
	const struct emit_options *options;
};

int at_end_open(struct emitter **ret, FILE *out, const struct emit_options *options);
void at_end_free(struct emitter *e);

#endif /* KRAIT_EMIT_AT_END_H */
