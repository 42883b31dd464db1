/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * complete.h - what may stand at the end of a command line, for shells that complete what their user types.
 *
 * "krait --complete WORD..." prints what can replace the last word, which may be empty, a line each: the whole word,
 * and behind a tab what it means. A word that ends in "=" wants more. A line that begins with ":" is an order to the
 * shell, which knows more: ":file PREFIX", ":directory PREFIX" and ":user PREFIX" (its own names behind what is there
 * already), ":command N" (from the word N on it is another command's line).
 *
 * Must hold: nothing is executed, written, or asked for in the network; it ends within seconds. Only captures of
 * this user are read. Names of functions and arguments of processes, which others choose, are made printable.
 */
#ifndef KRAIT_CMD_COMMON_COMPLETE_H
#define KRAIT_CMD_COMMON_COMPLETE_H

#include <argp.h>
#include <stdbool.h>

/* From here on arguments_parse() calls complete_line(). */
void complete_begin(void);
bool complete_begun(void);

/* A possible word; about: NULL or what it means. For the commands themselves. */
void complete_word(const char *text, const char *name, const char *about);
/* Python processes whose pid begins with that text. */
void complete_pids(const char *prefix, const char *text);

/* Prints what the last argument can be, and ends the program. */
_Noreturn void complete_line(const struct argp *argp, int argc, char **argv, unsigned flags);

#endif /* KRAIT_CMD_COMMON_COMPLETE_H */
