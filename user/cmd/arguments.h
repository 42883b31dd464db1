/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arguments.h - the command line of a subcommand, parsed by argp, with what argp lacks: -h, and the option
 * that a mistyped one is closest to.
 */
#ifndef KRAIT_CMD_ARGUMENTS_H
#define KRAIT_CMD_ARGUMENTS_H

#include <argp.h>

/*
 * As argp_parse(); what is wrong ends the program with EXIT_CODE_USAGE after a message. 0, or what a parser
 * has returned.
 */
int arguments_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* The option of that long name, of the parser or of one below it; NULL none. */
const struct argp_option *arguments_find(const struct argp *argp, const char *name);

#endif /* KRAIT_CMD_ARGUMENTS_H */
