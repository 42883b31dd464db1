/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_told_parser.h - a test program that is its own parser. Besides the usual jobs it does what the first bytes of a
 * file tell it: "die", "compute", "work", "hang", "lie", "tell".
 */
#ifndef KRAIT_TESTS_SUPPORT_TOLD_PARSER_H
#define KRAIT_TESTS_SUPPORT_TOLD_PARSER_H

#include "target/parser.h"

/* What a parser tells of itself, in place of reasons why there is no debug information. */
struct self {
	unsigned uid, gid;
	int fds;
	/* What it has tried and could not: bits, 0 is right. */
	unsigned may;
};
_Static_assert(sizeof(struct self) < PARSER_WHY_MAX, "does not fit");

/* The role "parser" of the test. */
int told_parser_serve(int fd);
/* A file that tells it that. */
int told_parser_order(const char *order);

#endif /* KRAIT_TESTS_SUPPORT_TOLD_PARSER_H */
