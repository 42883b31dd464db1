/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inject.h - the protocol between krait and its injector. One injector serves one request: it
 * places the script, asks, withdraws, and removes what it placed.
 *
 * Answers are the injector's own sentences and numbers. Only one thing comes from the target: the
 * pipe through which its wrapper reports (report.h).
 */
#ifndef KRAIT_LOOK_EXEC_INJECT_H
#define KRAIT_LOOK_EXEC_INJECT_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "look/exec/debugger_support.h"

#define INJECT_NAME_MAX 256
/* Bytes in a script. */
#define INJECT_SCRIPT_MAX (16U << 20)

enum inject_op {
	INJECT_ASK = 1, /* dir, mem, script. Answer: with the read end of the report pipe */
	INJECT_WITHDRAW, /* Answer: withdrawn, or already begun */
	INJECT_REMOVE, /* the placed files; the script has begun or never will */
};

struct inject_request {
	__u32 op;
	pid_t pid;
	__u64 start_ticks, creds_digest;
	__u64 runtime_addr;
	struct py_offsets offsets;
	pid_t tid; /* in our pid namespace; 0: the main thread of the main interpreter */
	bool capture;
	char name[INJECT_NAME_MAX]; /* the script's name in tracebacks; any bytes */
};

struct inject_answer {
	/* 0; INJECT_ASK: why nothing was written; INJECT_WITHDRAW: -EALREADY: it has begun */
	__s32 result;
	pid_t tid; /* of the asked thread, in our pid namespace; 0: unknown */
	__u64 stopped_ns; /* upper bound of the time that the process stood still */
	char path[SCRIPT_PATH_MAX]; /* of the script, as the process sees it */
	char why[256]; /* a sentence if result is not 0 */
};

/* The role "injector". */
int inject_serve(int channel_fd);

#endif /* KRAIT_LOOK_EXEC_INJECT_H */
