/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent_config_file.h - the file of krait agent's --config: "key = value" lines, each key an option of the command line, which
 * goes in front of those that are given there. [sections] are headings and mean nothing.
 *
 * Must hold: only root or krait's own user may have written the file, and nobody else reads one that has secrets
 * in it; a message names file and line, and no value.
 */
#ifndef KRAIT_CMD_AGENT_CONFIG_FILE_H
#define KRAIT_CMD_AGENT_CONFIG_FILE_H

#include <argp.h>

struct error;

/* Arguments for arguments_parse(), NULL-terminated. All zero are none. */
struct agent_arguments {
	char **argv; /* [0] is that of the command; the last ones, too */
	int argc;
	int own; /* so many, from [1] on, are to be freed */
};

/* The file that the arguments name with --config; NULL none. */
const char *agent_config_path(int argc, char **argv) __attribute__((nonnull));
/* path: NULL for none. 0, or a negative result with *err filled. */
int agent_config_load(struct agent_arguments *ret, const char *path, const struct argp *argp,
		      int argc, char **argv, struct error *err)
	__attribute__((warn_unused_result, nonnull(1, 3, 5, 6)));
void agent_arguments_free(struct agent_arguments *a);

#endif /* KRAIT_CMD_AGENT_CONFIG_FILE_H */
