/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * printed.h - what a command prints, on the standard output or into the file that it was told: how that ends.
 *
 * Must hold: what could not be written is said and is EXIT_CODE_OUTPUT; a reader such as head, which has seen enough and
 * is gone, is no error.
 */
#ifndef KRAIT_CMD_PRINTED_H
#define KRAIT_CMD_PRINTED_H

#include <stdbool.h>

struct output_file;

/* err: of writing, 0 or -errno; module may be NULL. EXIT_CODE_OK, or EXIT_CODE_OUTPUT after an error message. */
int printed(const char *module, int err);

/* From now on, if krait ends with 0 although its standard output could not be written: says so, and it is EXIT_CODE_OUTPUT. */
void printed_at_exit(void);

/* A NULL path is the standard output. EXIT_CODE_OK, or EXIT_CODE_OUTPUT after an error message. */
int printed_open(struct output_file **ret, const char *path) __attribute__((warn_unused_result));
/* Publishes it where err, of what has written it, is 0, and says so of a file; then as printed(). */
int printed_finish(struct output_file *file, const char *path, int err);
/* The file is to be a page. */
bool printed_is_page(const char *path);

#endif /* KRAIT_CMD_PRINTED_H */
