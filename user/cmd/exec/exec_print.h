/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exec_print.h - prints what a script in another process writes, as it comes. The bytes are
 * untrusted and are made printable for a terminal.
 */
#ifndef KRAIT_CMD_EXEC_EXEC_PRINT_H
#define KRAIT_CMD_EXEC_EXEC_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A line is buffered until it ends or reaches this length. */
#define EXEC_LINE_MAX 8192

struct exec_print {
	FILE *out;
	bool terminal;
	size_t len;
	char line[EXEC_LINE_MAX + 1];
};

void exec_print_init(struct exec_print *p, FILE *out);
void exec_print_text(struct exec_print *p, const char *text, size_t len);
/* Prints an unfinished last line. */
void exec_print_flush(struct exec_print *p);

#endif /* KRAIT_CMD_EXEC_EXEC_PRINT_H */
