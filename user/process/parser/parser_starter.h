/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parser_starter.h - the process that forks parsers.
 *
 * It is a worker (worker.h), started while krait had all its rights. It keeps those needed to put a
 * parser into its sandbox and to end it, and never looks at anything that a parser says.
 *
 * Must hold: a parser that it has forked serves only once it is in the sandbox.
 */
#ifndef KRAIT_PROCESS_PARSER_PARSER_STARTER_H
#define KRAIT_PROCESS_PARSER_PARSER_STARTER_H

#include <linux/types.h>

enum starter_job {
	STARTER_START = 1, /* a descriptor: the parser's end of its channel */
	STARTER_END, /* no answer */
};

struct starter_request {
	__u32 job;
	__s32 pid; /* END */
	__u32 urgent_usec; /* START: as parser__start_urgent(); 0: at an ordinary priority */
	__u32 unused;
};

struct starter_answer {
	__s32 pid; /* 0: none could be started */
};

/* Runs until the channel closes. serve: what a parser does with its channel. Returns the exit code. */
int parser_starter_serve(int channel_fd, void (*serve)(int channel_fd)) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_PARSER_PARSER_STARTER_H */
