/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/formats.h"

#include <string.h>

#include "emit/formats.h"
#include "perfdata/output.h"

static const struct emitter_ops *const formats[] = {
	&perf_data_emitter,   &folded_emitter,	  &html_emitter,
	&perf_script_emitter, &pprof_emitter,	  &speedscope_emitter,
	&firefox_emitter,     &callgrind_emitter, NULL,
};

const struct emitter_ops *format_by_name(const char *name)
{
	const struct emitter_ops *const *e;

	for (e = formats; *e; e++)
		if (!strcmp((*e)->name, name))
			return *e;
	return NULL;
}

/* The longest suffix wins: ".perf.txt" before ".txt". */
const struct emitter_ops *format_by_suffix(const char *path)
{
	const struct emitter_ops *const *e, *best = NULL;
	size_t len = strlen(path), best_len = 0;
	const char *const *s;

	for (e = formats; *e; e++) {
		for (s = (*e)->suffixes; *s; s++) {
			size_t n = strlen(*s);

			if (n <= best_len || n >= len || strcmp(path + len - n, *s))
				continue;
			best = *e;
			best_len = n;
		}
	}
	return best;
}
