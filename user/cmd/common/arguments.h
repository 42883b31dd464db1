/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arguments.h - parses a subcommand's command line with argp and adds what argp lacks: -h, and a
 * suggestion for a mistyped option. Also parses arguments common to several commands.
 */
#ifndef KRAIT_CMD_COMMON_ARGUMENTS_H
#define KRAIT_CMD_COMMON_ARGUMENTS_H

#include <argp.h>
#include <linux/types.h>
#include <stdbool.h>

#include "profile/thread_filter.h"

/* The largest pid that a kernel assigns. */
#define ARGUMENTS_PID_MAX 4194304

/* In flags: the command reads a capture. What follows has no rights (keeper_serve.h). */
#define ARGUMENTS_READS (1U << 31)

/*
 * Like argp_parse(), but a mistake ends the program with a message and EXIT_CODE_USAGE. Returns 0
 * or the parser's result.
 */
int arguments_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/*
 * What the last command line that was parsed says, defaults of the user's included, in the order in which it does: an
 * option (without the value of one that takes none: arg NULL), or a word that is none (option NULL) up to a command's
 * name, which is all of the rest.
 */
typedef void (*arguments_said_fn)(const struct argp_option *option, const char *arg, void *ctx);
void arguments_repeat(arguments_said_fn fn, void *ctx);

/* Ends the program with EXIT_CODE_USAGE and one line: what is wrong with an option or its argument. */
void arguments_refuse(const struct argp_state *state, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* Calls fn for each option of the parser and its children until it returns true. */
typedef bool (*arguments_fn)(const struct argp_option *option, void *ctx);
bool arguments_each(const struct argp *argp, arguments_fn fn, void *ctx);
/* Finds a long option of the parser or its children; NULL: none. */
const struct argp_option *arguments_find(const struct argp *argp, const char *name);
/* Likewise as it is typed: its name or the beginning of that, len letters; or the letter of a short one. Not an alias. */
const struct argp_option *arguments_long(const struct argp *argp, const char *text, size_t len);
const struct argp_option *arguments_short(const struct argp *argp, char key);

/*
 * Arguments of options. An invalid text ends the program with a message that contains "what", if
 * there is such a parameter.
 */

/* A pid or tid. */
int arguments_id(const char *text, const char *what, struct argp_state *state);
/*
 * Takes the next process of a list such as "12,34", also separated by blanks or newlines, as pgrep
 * and pidof print it. Returns 0 at the end.
 */
int arguments_next_pid(const char **text, struct argp_state *state);
/* min to max, with or without "%". */
double arguments_percent(const char *text, const char *what, double min, double max,
			 struct argp_state *state);
/* Of rows, lines or files; may be 0. */
#define ARGUMENTS_COUNT_MAX 1000000000
unsigned arguments_count(const char *text, const char *what, unsigned max,
			 struct argp_state *state);
/* A time in nanoseconds; samples per second; bytes. All are above 0. */
void arguments_time(__u64 *ret_ns, const char *text, struct argp_state *state);
void arguments_rate(__u64 *ret, const char *text, struct argp_state *state);
void arguments_size(__u64 *ret, const char *text, struct argp_state *state);
/* A level of zstd's, as -z takes it; text NULL: the usual one. */
int arguments_level(const char *text, struct argp_state *state);
/* Adds one thread to those that --thread lets through. */
void arguments_thread(struct thread_filter *filter, const char *text, struct argp_state *state);

#endif /* KRAIT_CMD_COMMON_ARGUMENTS_H */
