/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_script.h - handmade logs of inputs: what some processes do, and when krait hears of it.
 *
 * Times are in milliseconds from the beginning. Entries may be added in any order: records keep the
 * order in which they were added (the ring's); answers belong to their requests.
 */
#ifndef KRAIT_TESTS_REPLAY_SCRIPT_H
#define KRAIT_TESTS_REPLAY_SCRIPT_H

#include <linux/types.h>
#include <stdio.h>

#include "bpf/abi.h"
#include "replay.h"
#include "record/replay/input_log.h"
#include "support_image.h"
#include "process/probe/probe.h"
#include "process/probe/probe_maps.h"

#define SCRIPT_CODES 26

/* A program of CPython 3.13 with functions "a" to "z" behind a prefix, in p.py. */
struct program {
	struct image *image;
	__u64 code_addr[SCRIPT_CODES];
	__u32 fingerprint[SCRIPT_CODES];
};

/* A process from start to end; after an exec it is another actor with the same pid and start. */
struct actor {
	pid_t pid;
	__u64 start_ns;
	const char *comm;
	const struct program *program; /* NULL: not Python */
	/* PY_VERSION_HEX if it publishes more; 0: 3.13, which publishes nothing more */
	__u32 version;
	uid_t uid; /* below OWNER_CNT, also the owner of its records */
	const char *script; /* by its command line; NULL: none */
};

struct script {
	FILE *out;
	char *log;
	size_t size;
	unsigned sample_cnt;
};

/* The names of its functions begin with prefix. */
void program_make(struct program *program, const char *prefix);
void program_drop(struct program *program);

void script_begin(struct script *s);
/* Ends the log at that time, ready for replay. */
void script_end(struct script *s, double ms);
void script_free(struct script *s);
__u64 script_ns(double ms);
/* Adds one entry unchanged. */
void script_put(struct script *s, enum input_kind kind, double ms, const void *key, size_t key_size,
		const void *value, size_t value_size);

/*
 * A look at it is answered at that time with what it is by then; its memory is readable from then
 * on.
 */
void script_look(struct script *s, double ms, const struct actor *a);
/* A look fails, with -ESRCH or similar; why: NULL: no reason given. */
void script_look_fails(struct script *s, double ms, pid_t pid, int result);
void script_look_refused(struct script *s, double ms, const struct actor *a, int result,
			 const char *why);
/* A request to it fails: -ETIMEDOUT, -EUSERS, -EIO, -EAGAIN (prober.h). */
void script_silent(struct script *s, double ms, const struct actor *a, enum probe_op op,
		   int result);
/* From then on it can be opened and read. */
void script_open(struct script *s, double ms, const struct actor *a);
/* A search for what it publishes is answered at that time; NULL: nothing yet. */
void script_published(struct script *s, double ms, const struct actor *a,
		      const struct published *published);
/* A look at the names of its threads finds these. */
void script_names(struct script *s, double ms, const struct actor *a,
		  const struct probe_names *names);
/* It has mapped code. */
void script_mmap(struct script *s, double ms, const struct actor *a);
/* perf reports that it has; NULL: that some process may have. */
void script_mapped(struct script *s, double ms, const struct actor *a);
/* All processes are looked at; these are there. The time that is waited for the looks. */
void script_scan(struct script *s, double ms, unsigned wait_ms, const pid_t pids[], size_t cnt);
/* /proc/PID tells the owner. */
void script_owner(struct script *s, double ms, const struct actor *a);
/* Mappings as read by a prober: all of one file with that inode and name, with code. */
void script_maps(struct script *s, double ms, const struct actor *a,
		 const struct probe_mapping *list, __u32 cnt, __u64 inode, const char *name);
/* The first so many requests for files through that process fail. */
void script_no_files(struct script *s, double ms, const struct actor *a, __u64 start, __u64 inode,
		     unsigned cnt);
/* The session is this one instead of a recording of only Python frames. */
void script_session(struct script *s, const struct input_session *session);
/* /proc/PID/stat shows it from that time on. */
void script_start(struct script *s, double ms, const struct actor *a);
/* The kernel's count of its interrupts that found no room in the ring. */
void script_dropped(struct script *s, double ms, const struct actor *a, __u64 cnt);

void script_fork(struct script *s, double ms, const struct actor *child, pid_t parent);
/* Likewise, with the parent's start, which tells processes with the same pid apart. */
void script_fork_of(struct script *s, double ms, const struct actor *child,
		    const struct actor *parent);
void script_exec(struct script *s, double ms, const struct actor *a);
/* The kernel knows the executed program, with that layout. */
void script_known_exec(struct script *s, double ms, const struct actor *a, __u32 layout);
/* An interpreter starts in one of its libraries. */
void script_runtime(struct script *s, double ms, const struct actor *a, __u32 layout);
/* Code is mapped; inode 0: from no file. last: no more mappings are reported. */
void script_map(struct script *s, double ms, const struct actor *a, const struct probe_mapping *m,
		__u64 inode, bool last);
void script_exit(struct script *s, double ms, const struct actor *a, __u64 dropped);
void script_thread_exit(struct script *s, double ms, const struct actor *a, pid_t tid,
			__u64 start_ns);
/* The kernel has met a function for the first time in that process and describes it. */
void script_code(struct script *s, double ms, const struct actor *a, char function);
/* An interrupt: a letter for each frame, root first. */
void script_sample(struct script *s, double ms, const struct actor *a, const char *frames);
/* Likewise, with native code at these addresses, leaf first, up to 0: the whole native stack. */
void script_native_sample(struct script *s, double ms, const struct actor *a, const char *frames,
			  const __u64 ips[]);
/*
 * Likewise, with the stack address of each native frame, leaf first, up to one without an address.
 * A digit in frames is an entry frame, at 0x100 times that digit.
 */
void script_joined_sample(struct script *s, double ms, const struct actor *a, const char *frames,
			  const struct native_frame natives[]);
void script_thread_sample(struct script *s, double ms, const struct actor *a, pid_t tid,
			  __u64 start_ns, const char *frames);
/* Likewise; the program may have named the thread. */
void script_named_sample(struct script *s, double ms, const struct actor *a, pid_t tid,
			 __u64 start_ns, const char *frames);

#endif /* KRAIT_TESTS_REPLAY_SCRIPT_H */
