/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent_config_file.h - the file of krait agent's --config: "key = value" lines, each key an option
 * of the command line. They are inserted before the options given there. [sections] are mere
 * headings.
 *
 * Must hold: only root or krait's own user may write the file, and nobody else may read it if it
 * has secrets. Messages name file and line but no value.
 */
#ifndef KRAIT_CMD_AGENT_AGENT_CONFIG_FILE_H
#define KRAIT_CMD_AGENT_AGENT_CONFIG_FILE_H

#include <argp.h>

struct error;

/* NULL-terminated arguments for arguments_parse(). All zero: none. */
struct agent_arguments {
	char **argv; /* [0] is the command's own, as are the last ones */
	int argc;
	int own; /* the number, from [1] on, that must be freed */
};

/* Returns the file that --config names; NULL: none. */
const char *agent_config_path(int argc, char **argv) __attribute__((nonnull));
/* path: NULL for none. Returns 0, or a negative result with *err filled. */
int agent_config_load(struct agent_arguments *ret, const char *path, const struct argp *argp,
		      int argc, char **argv, struct error *err)
	__attribute__((warn_unused_result, nonnull(1, 3, 5, 6)));
void agent_arguments_free(struct agent_arguments *a);

#endif /* KRAIT_CMD_AGENT_AGENT_CONFIG_FILE_H */
