/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config_file.h - options in a file: "key = value" lines, each key an option of the command line. They are inserted
 * before the options given there. krait agent's --config has [sections] as mere headings; in the defaults of record,
 * report and top (git's syntax) a section is a command.
 *
 * Must hold: only root or krait's own user may write the file, and nobody else may read it if it
 * has secrets. Messages name file and line but no value.
 */
#ifndef KRAIT_CMD_COMMON_CONFIG_FILE_H
#define KRAIT_CMD_COMMON_CONFIG_FILE_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

struct error;

/* NULL-terminated arguments for arguments_parse(). All zero: none. */
struct config_arguments {
	char **argv; /* [0] is the command's own, as are the last ones */
	int argc;
	int own; /* the number, from [1] on, that must be freed */
};

/* Returns the file that --config names; NULL: none. */
const char *config_file_path(int argc, char **argv) __attribute__((nonnull));
/*
 * path: NULL for none. section: takes only keys of this one; NULL: all. Returns 0, or a negative result
 * with *err filled.
 */
int config_file_load(struct config_arguments *ret, const char *path, const char *section,
		     const struct argp *argp, int argc, char **argv, struct error *err)
	__attribute__((warn_unused_result, nonnull(1, 4, 6, 7)));
/*
 * Stores where the caller's defaults are: $KRAIT_CONFIG (empty: nowhere), or ~/.config/krait/config, under
 * sudo of the user who typed it. Returns whether there is such a file.
 */
bool config_file_defaults(char *buf, size_t size) __attribute__((warn_unused_result, nonnull));
void config_arguments_free(struct config_arguments *a);

#endif /* KRAIT_CMD_COMMON_CONFIG_FILE_H */
