/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_pythons.h - the interpreters that unit tests may compare with.
 *
 * The list is that of scripts/pythons: the file KRAIT_MATRIX or KRAIT_PYTHONS (scripts/run-tests), or asked
 * for (none is made then).
 * One executable for each version. What cannot be run here is named in a diagnostic line.
 */
#ifndef KRAIT_TESTS_SUPPORT_PYTHONS_H
#define KRAIT_TESTS_SUPPORT_PYTHONS_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct python {
	char version[32];
	char kind[16];
	char root[256]; /* "/" or a folder to change root to */
	char path[256];
};

/* Fills pythons with those that are at least 3.minor, newest first. How many. */
size_t pythons_find(struct python *pythons, size_t cap, int minor);

/*
 * A running script. It is handed over on descriptor 3, so that it need not exist in the root of
 * the interpreter; its standard input and output are pipes to us. It dies with us.
 */
struct script {
	pid_t pid;
	FILE *in; /* to the script */
	FILE *out; /* from the script */
};

/* file is a name in tests/unit; arg may be NULL. 0 or -errno. */
int script_start(struct script *s, const struct python *python, const char *file, const char *arg);

/* Closes both pipes and waits. 0 if it ended with success. */
int script_end(struct script *s);

#endif /* KRAIT_TESTS_SUPPORT_PYTHONS_H */
