/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parser_starter.h - the process that parsers are forks of.
 *
 * It is a worker (worker.h) and has been started while krait had all its rights. It keeps those that
 * it takes to put a parser into its sandbox and to end it, and looks at nothing that a parser says.
 *
 * Must hold: a parser that it has forked serves only after it is in the sandbox.
 */
#ifndef KRAIT_TARGET_PARSER_STARTER_H
#define KRAIT_TARGET_PARSER_STARTER_H

#include <linux/types.h>

enum starter_job {
	STARTER_START = 1, /* a descriptor: the parser's end of its channel */
	STARTER_END, /* no answer */
};

struct starter_request {
	__u32 job;
	__s32 pid; /* END */
	__u32 urgent; /* START: at krait's priority, within the bound that the role has */
	__u32 unused;
};

struct starter_answer {
	__s32 pid; /* 0: none could be started */
};

/* Until the channel closes. serve: what a parser does with its channel. The exit code. */
int parser_starter_serve(int channel_fd, void (*serve)(int channel_fd)) __attribute__((nonnull));

#endif /* KRAIT_TARGET_PARSER_STARTER_H */
