/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe.h - what krait and a prober say to each other.
 *
 * One message a request, one an answer, in the order of the requests. Both ends are the same
 * executable, so the structs are sent as they are; what came out of another process is checked by the
 * prober, and by krait once more where it would follow it.
 */
#ifndef KRAIT_TARGET_PROBE_H
#define KRAIT_TARGET_PROBE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "target/claims.h"
#include "target/context.h"
#include "target/file_id.h"
#include "target/process.h"
#include "target/probe_tasks.h"
#include "target/probe_threads.h"
#include "target/process_info.h"
#include "target/published.h"
#include "worker/channel.h"

/* Bytes of memory in one answer. */
#define PROBE_READ_MAX 61440U
#define PROBE_FDS_MAX 3

/* Descriptors of a request: those of struct py_process_fds that it names, in that order. */
enum probe_op {
	PROBE_IDENTIFY = 1, /* by pid. Answer: a struct probe_found and its three descriptors */
	PROBE_OPEN, /* the same of a process that need not be Python: ids and context only */
	PROBE_READ, /* mem. Answer: the bytes */
	PROBE_MAPS, /* dir. Answer: a descriptor of a list (probe_maps.h) */
	PROBE_FILE, /* dir. Answer: a struct probe_file and a descriptor of a mapped file */
	PROBE_DEBUG, /* dir. Answer: a descriptor of a file in its root, debug_file_open() */
	PROBE_THREADS, /* dir, mem. Answer: a descriptor of a list (probe_threads.h) */
	PROBE_ANCHOR_READ, /* dir, mem. Answer: a struct probe_anchor_state */
	PROBE_ANCHOR_WRITE, /* the same, after the write */
	PROBE_PUBLISHED, /* by pid. Answer: a struct published */
	PROBE_TASKS, /* mem. Answer: a descriptor of a list (probe_tasks.h) */
	PROBE_GREENLETS, /* dir, mem. Answer: a descriptor of a list (probe_greenlets.h) */
	PROBE_CLAIMS, /* by pid. Answer: a struct claims */
	PROBE_GREENLET_PLACE, /* by pid. Answer: a struct greenlet_place */
	/* First of all, if at all: it still has its starter's rights, and starts what needs them. */
	PROBE_PREPARE,
	/* Never asked: an answer in front of the one that is awaited. It waits for a processor. */
	PROBE_ALIVE,
	PROBE_OPS
};

/* A thread state, as a sample has found it, and what is to be written there. */
struct probe_anchor {
	__u64 tstate_addr, interp_addr, thread_ptr;
	__s32 thread_id, interp; /* offsets in PyThreadState */
	__s32 last_profiled_frame, last_profiled_frame_seq;
	__u64 creds_digest; /* of the process when it was identified (struct py_process) */
	__u64 frame_addr; /* to be written; 0 empties the slot */
	bool foreign_ok; /* also over another's value */
};

struct probe_anchor_state {
	__u64 lpf_addr, seq; /* before a write */
};

struct probe_request {
	__u32 op;
	pid_t pid;
	__u64 start_ticks; /* of the process that is meant; 0: whichever has the number */
	bool want_parser; /* with PROBE_PREPARE */
	bool want_info; /* with PROBE_IDENTIFY: info, whatever the result is */
	struct {
		__u64 addr;
		__u32 len;
	} read;
	struct {
		__u64 start, end; /* of the mapping */
		__u64 inode;
		char path[1024]; /* its name in the list of mappings */
	} file;
	struct {
		__u8 build_id[32];
		__u32 size;
		uid_t owner;
	} debug;
	struct {
		__u32 version; /* of the interpreter */
		__u64 runtime_addr;
	} published;
	struct probe_anchor anchor;
	struct probe_threads_ask threads;
	struct probe_tasks_ask tasks;
};

struct probe_answer {
	__u32 op;
	__s32 result; /* 0 or -errno, as the function that it stands for */
	__u32 fds; /* bit i: descriptor i of struct py_process_fds came along */
	__u32 len; /* of what is behind this struct */
};

/* Shorter where the result is not 0 and no info was asked for: process alone. */
struct probe_found {
	struct py_process process;
	bool has_info;
	struct process_info info;
	struct context context; /* its container.runtime is not sent */
	char cgroups[CGROUP_TEXT_MAX];
};

struct probe_file {
	struct file_id id;
	bool remote; /* as open_file_is_remote() */
};

/* An answer as both ends keep it: what is behind the head lies where such structs may lie. */
struct probe_message {
	struct probe_answer head;
	union {
		struct probe_found found;
		struct probe_file file;
		struct probe_anchor_state anchor;
		struct published published;
		struct claims claims;
		struct greenlet_place greenlet_place;
		__u8 bytes[PROBE_READ_MAX];
	}; /* only head.len bytes are sent */
};
_Static_assert(sizeof(struct probe_message) <= CHANNEL_MAX, "an answer is one message");
_Static_assert(offsetof(struct probe_message, bytes) == sizeof(struct probe_answer), "no gap");

#endif /* KRAIT_TARGET_PROBE_H */
