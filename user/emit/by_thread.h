/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * by_thread.h - what emitters have in common that keep all samples and write them thread by thread.
 */
#ifndef KRAIT_EMIT_BY_THREAD_H
#define KRAIT_EMIT_BY_THREAD_H

#include "emit/emitter.h"
#include "emit/timeline.h"

struct emitter {
	FILE *out;
	const struct emit_options *options;
	struct timeline *timeline;
};

int by_thread_open(struct emitter **ret, FILE *out, const struct emit_options *options);
int by_thread_sample(struct emitter *e, const struct profile *p, const struct profile_sample *s);
void by_thread_free(struct emitter *e);

#endif /* KRAIT_EMIT_BY_THREAD_H */
