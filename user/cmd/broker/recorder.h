/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recorder.h - one recording for a client: krait record --own, as a process of the client's.
 *
 * It has the client's uid, gid and groups, and of the broker's capabilities only those for BPF programs, perf
 * events and mapped files: none over processes and files. So whatever it and its workers open, the kernel
 * answers as it would answer the client; --own is about the samples, which it does not answer for.
 *
 * Must hold: its arguments are numbers; its environment is fixed; it ends with the broker. The client may
 * signal it, but cannot look into it, since it has capabilities that the client lacks.
 */
#ifndef KRAIT_CMD_BROKER_RECORDER_H
#define KRAIT_CMD_BROKER_RECORDER_H

#include <sys/types.h>

#include "cmd/broker/peer.h"
#include "cmd/broker/protocol.h"

struct recorder {
	pid_t pid; /* 0: it has been reaped */
	int pidfd;
	int began_fd; /* readable when it samples, or never will */
	char folder[40]; /* "": there is none */
};

/* Capabilities that the broker must have to hand down, and for itself. */
__u64 recorder_capabilities(void);

/*
 * Starts it; client_fd: gets BROKER_FOLDER. Returns 0, or -errno with nothing to be freed.
 */
int recorder_start(struct recorder *ret, const struct peer *peer,
		   const struct broker_request *request, int client_fd)
	__attribute__((warn_unused_result));
/* 1 and its exit code, or 128 and the signal that ended it; 0: it still runs. */
int recorder_ended(struct recorder *r, int *ret_code);
void recorder_signal(const struct recorder *r, int signal);
/* After its end: starts a process that removes the folder, with the client's rights, in its place. */
int recorder_clean(struct recorder *r, const struct peer *peer) __attribute__((warn_unused_result));
void recorder_free(struct recorder *r);

#endif /* KRAIT_CMD_BROKER_RECORDER_H */
