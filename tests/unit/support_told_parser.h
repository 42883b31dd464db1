/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_told_parser.h - a test program that is its own parser. Besides the usual jobs it obeys a
 * file's first bytes: "die", "compute", "work", "hang", "lie", "tell",
 * "toil100": 100 ms of CPU time.
 */
#ifndef KRAIT_TESTS_SUPPORT_TOLD_PARSER_H
#define KRAIT_TESTS_SUPPORT_TOLD_PARSER_H

#include "process/parser/parser.h"

/* A parser's report on itself, in place of the reason why there is no debug information. */
struct self {
	unsigned uid, gid;
	int fds;
	/* Bits of forbidden actions that succeeded; 0 is right. */
	unsigned may;
};
_Static_assert(sizeof(struct self) < PARSER_WHY_MAX, "does not fit");

/* The test's role "parser". */
int told_parser_serve(int fd);
/* Makes a file with that order. */
int told_parser_order(const char *order);

#endif /* KRAIT_TESTS_SUPPORT_TOLD_PARSER_H */
