/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/emitter.h"

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

char *emitter_books(const struct profile *p)
{
	unsigned cnt = p->event_cnt;
	char *text = NULL, books[512];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (unsigned i = 0; i < cnt; i++) {
		const struct counts *e = profile__counts(p, i);

		accounts_format(&e->accounts, books, sizeof(books));
		fprintf(out, "%s%s%s%s", i ? "; " : "", cnt > 1 ? e->event.name : "",
			cnt > 1 ? ": " : "", books);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
