/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arguments.h - the command line of a subcommand, parsed by argp, with what argp lacks: -h, and the option
 * that a mistyped one is closest to; and what options of several commands take.
 */
#ifndef KRAIT_CMD_ARGUMENTS_H
#define KRAIT_CMD_ARGUMENTS_H

#include <argp.h>
#include <linux/types.h>

#include "profile/thread_filter.h"

/* The largest that a kernel gives. */
#define ARGUMENTS_PID_MAX 4194304

/*
 * As argp_parse(); what is wrong ends the program with EXIT_CODE_USAGE after a message. 0, or what a parser
 * has returned.
 */
int arguments_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* Ends the program with EXIT_CODE_USAGE and one line: what is wrong with an option, or with what it was given. */
void arguments_refuse(const struct argp_state *state, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* The option of that long name, of the parser or of one below it; NULL none. */
const struct argp_option *arguments_find(const struct argp *argp, const char *name);

/* What an option takes. Any other text ends the program with a message that has "what" in it, where there is one. */

/* A pid or tid. */
int arguments_id(const char *text, const char *what, struct argp_state *state);
/* The next process of a list such as "12,34", also with blanks and ends of lines, as pgrep and pidof print it; 0 none. */
int arguments_next_pid(const char **text, struct argp_state *state);
/* A number of rows, lines or files, 0 included. */
unsigned arguments_count(const char *text, const char *what, struct argp_state *state);
/* A time, in nanoseconds; samples a second; bytes. All of them are more than 0. */
void arguments_time(__u64 *ret_ns, const char *text, struct argp_state *state);
void arguments_rate(__u64 *ret, const char *text, struct argp_state *state);
void arguments_size(__u64 *ret, const char *text, struct argp_state *state);
/* One more thread that --thread is to let through. */
void arguments_thread(struct thread_filter *filter, const char *text, struct argp_state *state);

#endif /* KRAIT_CMD_ARGUMENTS_H */
