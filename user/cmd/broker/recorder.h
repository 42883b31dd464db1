/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recorder.h - one command for a client, a recording mostly: krait --own, as a process of the client's.
 *
 * It has the client's uid, gid and groups, and of the broker's capabilities only those for BPF programs, perf
 * events and mapped files: none over processes and files. So whatever it and its workers open, the kernel
 * answers as it would answer the client; --own is about the samples, which it does not answer for. Where YAMA
 * lets only ancestors read memory, it has an opener (process/memory/opener.h).
 *
 * Must hold: its arguments are what served.h allows; its environment is fixed; it ends with the broker. The client may
 * signal it, but cannot look into it, since it has capabilities that the client lacks.
 */
#ifndef KRAIT_CMD_BROKER_RECORDER_H
#define KRAIT_CMD_BROKER_RECORDER_H

#include <sys/types.h>

#include "cmd/broker/peer.h"
#include "cmd/broker/protocol.h"
#include "cmd/broker/served.h"

struct spare;

/* With a number, in /var/tmp. */
#define RECORDER_FOLDER_SIZE 40

struct recorder {
	pid_t pid; /* 0: it has been reaped */
	int pidfd;
	int began_fd; /* readable when it samples, or never will */
	char folder[RECORDER_FOLDER_SIZE]; /* "": there is none */
};

/* What it does, and for whom. */
struct recorder_job {
	const struct peer *peer;
	const struct broker_request *request;
	const struct served *served; /* what that says */
	bool kernel; /* frames of the kernel may be recorded */
	bool opener; /* it needs one */
	bool all; /* it sees the whole machine */
	__u64 bytes; /* no file that it writes is larger */
	int client_fd; /* gets BROKER_FOLDER and BROKER_STREAM */
};

/* Capabilities that the broker must have to hand down, and for itself; all: also to those who see the whole machine. */
__u64 recorder_capabilities(bool all);

/* Starts it, or makes it of the spare, which is then none. Returns 0, or -errno with nothing to be freed. */
int recorder_start(struct recorder *ret, const struct recorder_job *job, struct spare *spare)
	__attribute__((warn_unused_result));
/* 1 and its exit code, or 128 and the signal that ended it; 0: it still runs. */
int recorder_ended(struct recorder *r, int *ret_code);
void recorder_signal(const struct recorder *r, int signal);
/* After its end: starts a process that removes the folder, with the client's rights, in its place. */
int recorder_clean(struct recorder *r, const struct peer *peer) __attribute__((warn_unused_result));
void recorder_free(struct recorder *r);

/* ---- in the process that becomes it ---- */

/* krait's arguments: fixed words, and those of the request that served.h allows. They are the job's. */
struct recorder_line {
	char *argv[BROKER_WORDS_MAX + SERVED_PIDS_MAX + 16];
	size_t cnt;
	char duration[48], pids[SERVED_PIDS_MAX][12];
};

void recorder_line(struct recorder_line *ret, const struct recorder_job *job);
/* Where memory is short, the kernel ends this process before the broker. */
void recorder_give_way(void);
extern char *const recorder_environment[];
/*
 * Takes the client's ids, gives all rights up but a recorder's, makes the folder and goes there, and sets the first descriptors.
 * began_fd: above OWN_OPENER_FD, the caller's. Returns 0, or -errno: the process must end.
 */
int recorder_become(const char *folder, const struct recorder_job *job, int began_fd, pid_t broker)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CMD_BROKER_RECORDER_H */
