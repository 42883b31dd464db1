/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exec_options.h - the command line of krait exec as a struct.
 */
#ifndef KRAIT_CMD_EXEC_EXEC_OPTIONS_H
#define KRAIT_CMD_EXEC_EXEC_OPTIONS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

struct exec_options {
	pid_t pid, tid; /* tid 0: the main thread */
	const char *script; /* file name; "-": standard input; NULL: code is given */
	const char *code;
	bool capture;
	__u64 timeout_ns;
};

/* Invalid options end krait with the usage message. *o must be all zero. */
void exec_options_parse(struct exec_options *o, int argc, char **argv);

#endif /* KRAIT_CMD_EXEC_EXEC_OPTIONS_H */
