/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe.h - the messages between krait and a prober.
 *
 * Each request is one message, and each answer, in the order of the requests. Both ends are the
 * same executable, so the structs are sent as they are. The prober checks what came out of another
 * process, and krait checks again whatever it would follow.
 */
#ifndef KRAIT_PROCESS_PROBE_PROBE_H
#define KRAIT_PROCESS_PROBE_PROBE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "process/proc/claims.h"
#include "process/proc/context.h"
#include "process/proc/file_id.h"
#include "process/identify/py_process.h"
#include "process/probe/probe_names.h"
#include "process/probe/probe_source.h"
#include "process/probe/probe_tasks.h"
#include "process/probe/probe_threads.h"
#include "process/proc/process_info.h"
#include "python/layout/published.h"
#include "base/data/memory.h"
#include "base/worker/channel.h"

/* Bytes of memory in one answer. */
#define PROBE_READ_MAX 61440U
#define PROBE_FDS_MAX 3

/* A request carries the descriptors of struct py_process_fds that it names, in that order. */
enum probe_op {
	PROBE_IDENTIFY = 1, /* by pid. Answer: a struct probe_found and its three descriptors */
	PROBE_OPEN, /* the same for an image that is known: only ids and context */
	PROBE_READ, /* mem. Answer: the bytes */
	PROBE_TRAIL, /* mem. Answer: a struct probe_trail, as far as used */
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
	PROBE_PAGES, /* dir. Answer: a descriptor of a list (probe_pages.h) */
	PROBE_NAMES, /* dir, mem; tasks has the offsets. Answer: a struct probe_names, as far as used */
	PROBE_SOURCE, /* dir, mem; tasks has the offsets. Answer: a struct probe_source and a descriptor */
	/*
	 * Sent first, if at all: the prober still has its starter's rights, and starts what needs
	 * them.
	 */
	PROBE_PREPARE,
	/* Never requested: comes before the awaited answer, if that waits for a processor. */
	PROBE_ALIVE,
	PROBE_OPS
};

/* A thread state, as a sample found it, and what to write there. */
struct probe_anchor {
	__u64 tstate_addr, interp_addr, thread_ptr;
	__s32 thread_id, interp; /* offsets in PyThreadState */
	__s32 last_profiled_frame, last_profiled_frame_seq;
	__u64 creds_digest; /* of the process when it was identified (struct py_process) */
	__u64 frame_addr; /* to write; 0 empties the slot */
	bool foreign_ok; /* write even over another's value */
};

struct probe_anchor_state {
	__u64 lpf_addr, seq; /* before a write */
};

struct probe_request {
	__u32 op;
	pid_t pid;
	__u64 start_ticks; /* of the intended process; 0: whichever has the pid */
	/*
	 * By pid, except with PROBE_IDENTIFY: what it must still execute, else -ESTALE: as in struct
	 * py_process; 0 unknown.
	 */
	struct probe_image {
		__u64 image_addr, runtime_addr;
		bool alone; /* its executable is nothing but an interpreter */
	} image;
	bool want_parser; /* with PROBE_PREPARE */
	bool want_info; /* with PROBE_IDENTIFY: include info whatever the result is */
	struct {
		__u64 addr;
		__u32 len;
	} read;
	struct memory_trail trail; /* from read.addr */
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
	struct probe_names_ask names;
	struct probe_source_ask source;
	__u32 pages_shift; /* bpf/fault.h */
};

struct probe_answer {
	__u32 op;
	__s32 result; /* 0 or -errno, as the function that the request stands for */
	__u32 fds; /* bit i: descriptor i of struct py_process_fds is included */
	__u32 len; /* bytes after this struct */
};

/* If the result is not 0 and no info was requested, only process is sent. */
struct probe_found {
	struct py_process process;
	bool has_info;
	struct process_info info;
	struct context context; /* without container.runtime */
	char cgroups[CGROUP_TEXT_MAX];
};

/* The object, and what its pointers lead to as far as it could be read; the bytes are one after another. */
struct probe_trail {
	struct {
		__u64 addr;
		__u64 len;
	} pieces[1 + MEMORY_TRAIL_MAX];
	__u8 bytes[PROBE_READ_MAX - 16 * (1 + MEMORY_TRAIL_MAX)];
};

struct probe_file {
	struct file_id id;
	bool remote; /* as open_file_is_remote(), or only in the process's memory (mapped_image.h) */
};

/* An answer as both ends keep it: what follows the head is suitably aligned for such structs. */
struct probe_message {
	struct probe_answer head;
	union {
		struct probe_found found;
		struct probe_file file;
		struct probe_anchor_state anchor;
		struct published published;
		struct claims claims;
		struct greenlet_place greenlet_place;
		struct probe_names names;
		struct probe_source source;
		struct probe_trail trail;
		__u8 bytes[PROBE_READ_MAX];
	}; /* only head.len bytes are sent */
};
_Static_assert(sizeof(struct probe_message) <= CHANNEL_MAX, "an answer is one message");
_Static_assert(offsetof(struct probe_message, bytes) == sizeof(struct probe_answer), "no gap");

#endif /* KRAIT_PROCESS_PROBE_PROBE_H */
