/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/exec/exec_print.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text/printable.h"

void exec_print_init(struct exec_print *p, FILE *out)
{
	p->out = out;
	p->terminal = isatty(fileno(out));
	p->len = 0;
}

/* Tabs stay: people print tables with them. */
static void put_line(struct exec_print *p)
{
	char *at = p->line, *end = p->line + p->len;

	*end = '\0';
	while (at <= end) {
		size_t len = strcspn(at, "\t");
		char *shown;

		at[len] = '\0';
		shown = printable(at);
		fputs(shown ? shown : "?", p->out);
		free(shown);
		at += len + 1;
		if (at <= end)
			fputc('\t', p->out);
	}
	p->len = 0;
}

void exec_print_text(struct exec_print *p, const char *text, size_t len)
{
	if (!p->terminal) {
		fwrite(text, 1, len, p->out);
		return;
	}
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n' || p->len == EXEC_LINE_MAX) {
			put_line(p);
			fputc('\n', p->out);
		}
		if (text[i] != '\n')
			p->line[p->len++] = text[i] ? text[i] : '?';
	}
	fflush(p->out);
}

void exec_print_flush(struct exec_print *p)
{
	if (p->len)
		put_line(p);
}
