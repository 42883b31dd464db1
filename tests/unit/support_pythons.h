/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_pythons.h - the interpreters that unit tests may compare with.
 *
 * The list comes from scripts/pythons: the file KRAIT_MATRIX or KRAIT_PYTHONS (scripts/run-tests),
 * or a call with --list. Takes one executable of each version. A diagnostic line names those that
 * cannot run here.
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

/* Fills pythons with versions from 3.minor on, newest first. Returns how many. */
size_t pythons_find(struct python *pythons, size_t cap, int minor);

/*
 * A running script. It is passed on descriptor 3, so it need not exist in the interpreter's root;
 * its standard input and output are pipes to us. It dies with us.
 */
struct script {
	pid_t pid;
	FILE *in; /* to the script */
	FILE *out; /* from the script */
};

/* file: a name in tests/unit; arg may be NULL. Returns 0 or -errno. */
int script_start(struct script *s, const struct python *python, const char *file, const char *arg);

/* Closes both pipes and waits. Returns 0 if the script succeeded. */
int script_end(struct script *s);

#endif /* KRAIT_TESTS_SUPPORT_PYTHONS_H */
