/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exec_options.h - what krait exec is asked for.
 */
#ifndef KRAIT_CMD_EXEC_OPTIONS_H
#define KRAIT_CMD_EXEC_OPTIONS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

struct exec_options {
	pid_t pid, tid; /* tid 0: the main thread */
	const char *script; /* a file's name, "-" the standard input; NULL: code */
	const char *code;
	bool capture;
	__u64 timeout_ns;
};

/* What makes no sense ends krait with the usage. *o is all zeroes at first. */
void exec_options_parse(struct exec_options *o, int argc, char **argv);

#endif /* KRAIT_CMD_EXEC_OPTIONS_H */
