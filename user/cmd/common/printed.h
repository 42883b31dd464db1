/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * printed.h - how printing to standard output or a given file ends.
 *
 * Must hold: a write error is reported and becomes EXIT_CODE_OUTPUT; a reader such as head that has
 * seen enough and left is no error.
 */
#ifndef KRAIT_CMD_COMMON_PRINTED_H
#define KRAIT_CMD_COMMON_PRINTED_H

#include <stdbool.h>

struct json;
struct output_file;

/*
 * err: write error, 0 or -errno; module may be NULL. Returns EXIT_CODE_OK, or EXIT_CODE_OUTPUT
 * after an error message.
 */
int printed(const char *module, int err);

/*
 * If krait ends with 0 but standard output could not be written, reports that and exits with
 * EXIT_CODE_OUTPUT.
 */
void printed_at_exit(void);

/*
 * A NULL path means standard output. Returns EXIT_CODE_OK, or EXIT_CODE_OUTPUT after an error
 * message.
 */
int printed_open(struct output_file **ret, const char *path) __attribute__((warn_unused_result));
/*
 * err: the error of writing it. Publishes the file and reports it if err is 0. Returns as printed()
 * does.
 */
int printed_finish(struct output_file *file, const char *path, int err);
/* Tells whether the path asks for a page. */
bool printed_is_page(const char *path);
/*
 * What an object for programs begins with: "schema" ("krait.WHAT"), its "version", which rises when
 * a member goes or changes its meaning, and "krait", the version of this program.
 */
void printed_json_head(struct json *j, const char *what);
/* The same in each object of an array: "schema" and "schema_version". */
void printed_json_row(struct json *j, const char *what);

#endif /* KRAIT_CMD_COMMON_PRINTED_H */
