/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mapper_protocol.h - the protocol between mapper.c and mapper_serve.c.
 */
#ifndef KRAIT_CAPTURE_PERFMAP_MAPPER_PROTOCOL_H
#define KRAIT_CAPTURE_PERFMAP_MAPPER_PROTOCOL_H

#include <linux/types.h>

struct mapper_request {
	__u32 number;
	__s32 pid;
	__u64 start_ticks; /* of the process, since boot; 0: it has ended */
	char first_line[64];
};

/* Comes with a descriptor if error is 0. */
struct mapper_answer {
	__u32 number; /* of the request: an abandoned one may still be answered */
	__s32 error; /* 0 or -errno */
	char path[64];
};

#endif /* KRAIT_CAPTURE_PERFMAP_MAPPER_PROTOCOL_H */
