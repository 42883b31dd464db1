/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inject.h - what krait and its injector say to each other. One injector serves one request: it places the
 * script, asks, withdraws, and removes what it has placed.
 *
 * Answers are sentences and numbers of the injector's own; the one thing that comes from the target is the pipe
 * in which its wrapper reports (report.h).
 */
#ifndef KRAIT_INJECT_INJECT_H
#define KRAIT_INJECT_INJECT_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "abi.h"
#include "inject/debugger_support.h"

#define INJECT_NAME_MAX 256
/* Bytes of a script. */
#define INJECT_SCRIPT_MAX (16U << 20)

enum inject_op {
	INJECT_ASK = 1, /* dir, mem, script. Answer: with the reading end of the report */
	INJECT_WITHDRAW, /* Answer: withdrawn, or begun */
	INJECT_REMOVE, /* what was placed; the script has begun, or it never will */
};

struct inject_request {
	__u32 op;
	pid_t pid;
	__u64 start_ticks, creds_digest;
	__u64 runtime_addr;
	struct py_offsets offsets;
	pid_t tid; /* ours; 0: the main thread of the main interpreter */
	bool capture;
	char name[INJECT_NAME_MAX]; /* what tracebacks call the script; any bytes */
};

struct inject_answer {
	__s32 result; /* 0; INJECT_ASK: why nothing was written; INJECT_WITHDRAW: -EALREADY it has begun */
	pid_t tid; /* ours, of the thread that is asked; 0 unknown */
	__u64 stopped_ns; /* for how long the process stood still, at most */
	char path[SCRIPT_PATH_MAX]; /* of the script, as the process sees it */
	char why[256]; /* a sentence where result is not 0 */
};

/* The role "injector". */
int inject_serve(int channel_fd);

#endif /* KRAIT_INJECT_INJECT_H */
