/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/source.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/common/source_reader.h"

/* Reading a file worth showing takes less. */
#define READ_MS 1000

struct top_source *top_source__of_text(char *text)
{
	struct top_source *s = calloc(1, sizeof(*s));
	unsigned cnt = 0;

	if (!s) {
		free(text);
		return NULL;
	}
	s->text = text;
	for (const char *at = text; at && *at; cnt++) {
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	s->lines = calloc((size_t)cnt + 1, sizeof(*s->lines));
	if (!s->lines) {
		top_source__free(s);
		return NULL;
	}
	for (char *at = text; at && *at;) {
		char *end = at + strcspn(at, "\n");
		bool last = !*end;

		s->lines[s->cnt++] = at;
		*end = '\0';
		if (end > at && end[-1] == '\r')
			end[-1] = '\0';
		at = last ? NULL : end + 1;
	}
	return s;
}

struct top_source *top_source__new(const struct dict *dict, __u32 file, const char *folder)
{
	char *text = NULL;
	int err = source_read_apart(&text, dict, file, folder, READ_MS);
	struct top_source *s = top_source__of_text(err ? NULL : text);

	if (s)
		s->err = err;
	return s;
}

void top_source__free(struct top_source *s)
{
	if (!s)
		return;
	free(s->text);
	free(s->lines);
	free(s);
}
