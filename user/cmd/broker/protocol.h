/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * protocol.h - what crosses between krait broker and its clients, over a SOCK_SEQPACKET socket.
 *
 * broker: HELLO with a number -> client: one request with it -> broker: FOLDER with a descriptor, BEGAN,
 * DONE with record's exit code; or REFUSED, at any point. A client that wants the recording to end shuts
 * its side down, or ends. The request has the number so that it is known to come from the process that was
 * looked at after it had connected: the kernel says who has sent it.
 *
 * The folder belongs to the client and has what record left there: the capture, and its messages. The
 * broker removes it when the client has closed the connection.
 *
 * Must hold: nothing from a client is a path, a descriptor, or a claim of who it is. Messages have a fixed
 * size; one of another size or version ends the connection.
 */
#ifndef KRAIT_CMD_BROKER_PROTOCOL_H
#define KRAIT_CMD_BROKER_PROTOCOL_H

#include <linux/types.h>

#define BROKER_SOCKET "/run/krait-broker/socket"
#define BROKER_VERSION 1
#define BROKER_PIDS_MAX 64
/* Of one recording: samples a second on each CPU, and its length. */
#define BROKER_RATE_MAX 1000
#define BROKER_SECONDS_MAX 3600
/* In the folder. */
#define BROKER_CAPTURE "perf.data"
#define BROKER_MESSAGES "messages"

enum broker_flag {
	BROKER_NO_NATIVE = 1 << 0,
	BROKER_INTERPRETER = 1 << 1,
	BROKER_OPCODES = 1 << 2,
	BROKER_NO_ASYNC = 1 << 3,
	BROKER_ASYNC_BOTH = 1 << 4,
	BROKER_TASK_NAMES = 1 << 5,
	BROKER_NO_GREENLETS = 1 << 6,
	BROKER_JITTER = 1 << 7,
	BROKER_INLINE = 1 << 8,
	BROKER_BECOMING = 1 << 9, /* the processes are about to execute what is to be recorded */
	BROKER_FLAGS = (1 << 10) - 1,
};

struct broker_request {
	__u32 version;
	__u32 flags; /* enum broker_flag */
	__u64 nonce; /* of the hello */
	__u64 duration_ms; /* 0: BROKER_SECONDS_MAX */
	__u32 rate; /* 1 to BROKER_RATE_MAX */
	__u32 pid_cnt; /* 1 to BROKER_PIDS_MAX */
	__s32 pids[BROKER_PIDS_MAX];
};
_Static_assert(sizeof(struct broker_request) == 288, "struct broker_request crosses processes");

enum broker_kind {
	BROKER_HELLO = 1,
	BROKER_FOLDER, /* with a descriptor */
	BROKER_BEGAN, /* from now on samples are taken */
	BROKER_DONE, /* the folder is complete */
	BROKER_REFUSED, /* code and text */
};

struct broker_answer {
	__u32 version;
	__u32 kind; /* enum broker_kind */
	__u64 nonce; /* BROKER_HELLO */
	__s32 code; /* BROKER_DONE, BROKER_REFUSED: enum exit_code, or 128 and a signal */
	char text[236];
};
_Static_assert(sizeof(struct broker_answer) == 256, "struct broker_answer crosses processes");

#endif /* KRAIT_CMD_BROKER_PROTOCOL_H */
