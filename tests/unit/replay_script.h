/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_script.h - logs of inputs made by hand: what some processes do, and when krait hears of it.
 *
 * Times are in milliseconds from the beginning. Entries may be put in any order: records keep the one in
 * which they were put (the ring's), answers belong to their requests.
 */
#ifndef KRAIT_TESTS_REPLAY_SCRIPT_H
#define KRAIT_TESTS_REPLAY_SCRIPT_H

#include <linux/types.h>
#include <stdio.h>

#include "abi.h"
#include "replay.h"
#include "replay/input_log.h"
#include "support_image.h"
#include "target/probe.h"
#include "target/probe_maps.h"

#define SCRIPT_CODES 26

/* One program of CPython 3.13: functions "a" to "z" behind a prefix, in p.py. */
struct program {
	struct image *image;
	__u64 code_addr[SCRIPT_CODES];
	__u32 fingerprint[SCRIPT_CODES];
};

/* A process, from its start to its end; an exec is another one with the same pid and start. */
struct actor {
	pid_t pid;
	__u64 start_ns;
	const char *comm;
	const struct program *program; /* NULL: it is not Python */
	__u32 version; /* PY_VERSION_HEX, for what it publishes; 0: 3.13, which publishes nothing more */
	uid_t uid; /* below OWNER_CNT the owner of its records, too */
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
/* The log is there to be replayed; it ends at that time. */
void script_end(struct script *s, double ms);
void script_free(struct script *s);
__u64 script_ns(double ms);
/* One entry of the log, as it is. */
void script_put(struct script *s, enum input_kind kind, double ms, const void *key, size_t key_size,
		const void *value, size_t value_size);

/* A look at it is answered at that time: what it is, by then; what is in its memory, from then on. */
void script_look(struct script *s, double ms, const struct actor *a);
/* A look is answered so: -ESRCH and the like; why: NULL none is said. */
void script_look_fails(struct script *s, double ms, pid_t pid, int result);
void script_look_refused(struct script *s, double ms, const struct actor *a, int result,
			 const char *why);
/* What is asked of it has no answer: -ETIMEDOUT, -EUSERS, -EIO, -EAGAIN (prober.h). */
void script_silent(struct script *s, double ms, const struct actor *a, enum probe_op op,
		   int result);
/* It can be opened and read. */
void script_open(struct script *s, double ms, const struct actor *a);
/* A search for what it publishes is answered at that time; NULL: nothing yet. */
void script_published(struct script *s, double ms, const struct actor *a,
		      const struct published *published);
/* It has mapped code. */
void script_mmap(struct script *s, double ms, const struct actor *a);
/* perf says that it has; NULL: that some may have. */
void script_mapped(struct script *s, double ms, const struct actor *a);
/* All processes are looked at; these are there. The time that is waited for the looks. */
void script_scan(struct script *s, double ms, unsigned wait_ms, const pid_t pids[], size_t cnt);
/* /proc/PID says whose it is. */
void script_owner(struct script *s, double ms, const struct actor *a);
/* Mappings as a prober reads them: all of one file of that inode and name, with code. */
void script_maps(struct script *s, double ms, const struct actor *a,
		 const struct probe_mapping *list, __u32 cnt, __u64 inode, const char *name);
/* Files cannot be opened through that process: the first so many that are asked for. */
void script_no_files(struct script *s, double ms, const struct actor *a, __u64 start, __u64 inode,
		     unsigned cnt);
/* The session is this one, and not one of Python frames alone. */
void script_session(struct script *s, const struct input_session *session);
/* /proc/PID/stat shows it from that time on. */
void script_start(struct script *s, double ms, const struct actor *a);
/* The kernel's count of its interrupts without room in the ring. */
void script_dropped(struct script *s, double ms, const struct actor *a, __u64 cnt);

void script_fork(struct script *s, double ms, const struct actor *child, pid_t parent);
/* The same, with the start of the parent: which process of that pid it is. */
void script_fork_of(struct script *s, double ms, const struct actor *child,
		    const struct actor *parent);
void script_exec(struct script *s, double ms, const struct actor *a);
/* The kernel knows what is executed: a program with that layout. */
void script_known_exec(struct script *s, double ms, const struct actor *a, __u32 layout);
/* An interpreter begins in a library of it. */
void script_runtime(struct script *s, double ms, const struct actor *a, __u32 layout);
/* Code is mapped; inode 0: of no file. last: no more is reported. */
void script_map(struct script *s, double ms, const struct actor *a, const struct probe_mapping *m,
		__u64 inode, bool last);
void script_exit(struct script *s, double ms, const struct actor *a, __u64 dropped);
void script_thread_exit(struct script *s, double ms, const struct actor *a, pid_t tid,
			__u64 start_ns);
/* The kernel has met a function for the first time in that process, and says what it is. */
void script_code(struct script *s, double ms, const struct actor *a, char function);
/* An interrupt: a letter for each frame, root first. */
void script_sample(struct script *s, double ms, const struct actor *a, const char *frames);
/* The same, and native code at these addresses, leaf first, until 0: the whole of it. */
void script_native_sample(struct script *s, double ms, const struct actor *a, const char *frames,
			  const __u64 ips[]);
/*
 * The same, with where native code has its part of the stack, leaf first, until one without an address. A digit in
 * frames is an entry frame: it lies at 0x100 times that.
 */
void script_joined_sample(struct script *s, double ms, const struct actor *a, const char *frames,
			  const struct native_frame natives[]);
void script_thread_sample(struct script *s, double ms, const struct actor *a, pid_t tid,
			  __u64 start_ns, const char *frames);

#endif /* KRAIT_TESTS_REPLAY_SCRIPT_H */
