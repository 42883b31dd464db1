/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * protocol.h - what crosses between krait broker and its clients, over a SOCK_SEQPACKET socket.
 *
 * broker: HELLO with a number -> client: one request with it -> broker: FOLDER and STREAM with a descriptor
 * each, BEGAN, DONE with the command's exit code; or REFUSED, at any point. A client that wants it to end
 * shuts its side down, or ends. The request has the number so that it is known to come from the process that was
 * looked at after it had connected: the kernel says who has sent it.
 *
 * The folder belongs to the client and has what record left there: the capture; and the messages of every command.
 * The broker removes it when the client has closed the connection. The stream, of other commands than record, is what
 * they print: a pipe, or a terminal of the service's for a client that has one.
 *
 * Must hold: nothing from a client is a path, a descriptor, or a claim of who it is. Messages have a fixed
 * size; one of another size or version ends the connection. What the words of a request may be is in served.h.
 */
#ifndef KRAIT_CMD_BROKER_PROTOCOL_H
#define KRAIT_CMD_BROKER_PROTOCOL_H

#include <linux/types.h>

#define BROKER_SOCKET "/run/krait-broker/socket"
/* Of a group that the administrator lets see the whole machine. */
#define BROKER_ALL_SOCKET "/run/krait-broker/all"
#define BROKER_VERSION 2
#define BROKER_WORDS_MAX 64
/* In the folder. */
#define BROKER_CAPTURE "perf.data"
#define BROKER_MESSAGES "messages"

enum broker_command {
	BROKER_RECORD,
	BROKER_DUMP,
	BROKER_LIST,
	BROKER_TOP,
	BROKER_DOCTOR,
	BROKER_COMMANDS,
};

enum broker_flag {
	BROKER_TERMINAL = 1 << 0, /* the client prints to one */
	BROKER_FLAGS = (1 << 1) - 1,
};

struct broker_request {
	__u32 version;
	__u32 command; /* enum broker_command */
	__u64 nonce; /* of the hello */
	__u32 flags; /* enum broker_flag */
	__u32 word_cnt;
	char words[2024]; /* options, each with a NUL behind it; the rest is zero */
};
_Static_assert(sizeof(struct broker_request) == 2048, "struct broker_request crosses processes");

enum broker_kind {
	BROKER_HELLO = 1,
	BROKER_FOLDER, /* with a descriptor */
	BROKER_BEGAN, /* from now on samples are taken */
	BROKER_DONE, /* the folder is complete */
	BROKER_REFUSED, /* code and text */
	BROKER_STREAM, /* with a descriptor */
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
