/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mapper_protocol.h - what mapper.c and mapper_serve.c say to each other.
 */
#ifndef KRAIT_PERFMAP_MAPPER_PROTOCOL_H
#define KRAIT_PERFMAP_MAPPER_PROTOCOL_H

#include <linux/types.h>

struct mapper_request {
	__u32 number;
	__s32 pid;
	char first_line[64];
};

/* With one descriptor where error is 0. */
struct mapper_answer {
	__u32 number; /* of the request: one that was given up may still answer */
	__s32 error; /* 0 or -errno */
	char path[64];
};

#endif /* KRAIT_PERFMAP_MAPPER_PROTOCOL_H */
