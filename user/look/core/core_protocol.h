/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * core_protocol.h - the protocol between core.c and core_serve.c: one message per request, one or
 * more in answer.
 */
#ifndef KRAIT_LOOK_CORE_CORE_PROTOCOL_H
#define KRAIT_LOOK_CORE_CORE_PROTOCOL_H

#include "look/core/core_python.h"
#include "process/probe/probe_threads.h"

#define CORE_PART_MAX 61440U
#define CORE_CODE_MAX (CORE_PART_MAX / sizeof(struct core_mapping))

enum core_op {
	CORE_OPEN = 1, /* descriptor: the core. Answer: struct core_facts */
	CORE_NAME, /* number. Answer: the name of that file */
	CORE_GIVE, /* number; descriptor: a file that may be that one */
	CORE_PYTHON, /* Answer: struct core_python */
	CORE_READ, /* addr, len. Answer: the bytes */
	CORE_THREADS, /* ask. Answer: a list (probe_threads.h) in parts */
	/* number: the first mapping. Answer: struct core_mapping for each mapping of code */
	CORE_CODE,
};

struct core_request {
	__u32 op;
	__u32 number;
	__u64 addr;
	__u32 len;
	__u32 unused;
	struct probe_threads_ask ask;
};

struct core_facts {
	pid_t pid;
	int signal; /* that ended it; 0: none */
	__u32 file_cnt, thread_cnt;
	char comm[16];
};

struct core_answer {
	__s32 result; /* 0, or -errno: then bytes has a sentence or nothing */
	__u32 len; /* of what follows; only that is sent */
	__u32 more; /* 1: another part follows */
	__u32 next; /* CORE_CODE: the mapping to go on from */
	union {
		struct core_facts facts;
		struct core_python python;
		struct core_mapping code[CORE_CODE_MAX];
		char bytes[CORE_PART_MAX];
	};
};

/* The role "core". */
int core_serve(int channel_fd);

#endif /* KRAIT_LOOK_CORE_CORE_PROTOCOL_H */
