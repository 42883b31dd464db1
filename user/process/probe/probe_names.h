/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_names.h - the names that a program has given to some of its threads (python/values/thread_names.h):
 * a prober reads them, krait asks again while the threads run.
 *
 * Most of the work is to find the dictionary of an interpreter's threads. It stays where it is, so
 * an answer says where, and the next question brings that along.
 *
 * A thread that has ended may have left its pthread_self() to another one. So a name counts only if
 * the thread still exists after it was read.
 *
 * Must hold: bounded time, whatever the process contains; what the question brings along is checked
 * like anything else that was read there.
 */
#ifndef KRAIT_PROCESS_PROBE_PROBE_NAMES_H
#define KRAIT_PROCESS_PROBE_PROBE_NAMES_H

#include <linux/types.h>
#include <stddef.h>
#include <sys/types.h>

#include "bpf/abi.h"

/* Threads of one question. */
#define PROBE_NAMES_MAX 64U
/* Interpreters of a process whose threads have names, from the newest on. */
#define PROBE_NAMES_INTERPS 8U
/* Bytes of one name, with the NUL: a longer one is cut after a whole character. */
#define PROBE_NAME_SIZE 64U

struct probe_names_place {
	__u64 interp_addr, active_addr; /* 0: none, or not known */
};

/* A thread in question. */
struct probe_names_thread {
	__u64 thread_ptr; /* pthread_self() */
	pid_t tid; /* in our pid namespace */
	__u32 number; /* the asker's */
};

struct probe_names_ask {
	__u32 cnt;
	__u32 pad_;
	struct probe_names_thread threads[PROBE_NAMES_MAX];
	struct probe_names_place places[PROBE_NAMES_INTERPS];
};

struct probe_name {
	__u32 number; /* as in the question */
	char name[PROBE_NAME_SIZE]; /* UTF-8, not printable yet */
};

struct probe_names {
	__u64 took_ns; /* CPU time of the prober */
	__u32 cnt;
	__u32 pad_;
	struct probe_names_place places[PROBE_NAMES_INTERPS];
	struct probe_name list[PROBE_NAMES_MAX]; /* those that have a name */
};

/* Bytes of an answer with that many names. */
static inline __u32 probe_names_size(__u32 cnt)
{
	return (__u32)(offsetof(struct probe_names, list) + cnt * sizeof(struct probe_name));
}

/* In a prober: reads names, of one process after the other. NULL: out of memory. */
struct names_reader;
struct names_reader *names_reader__new(void) __attribute__((warn_unused_result));
void names_reader__free(struct names_reader *r);
/*
 * dir: of /proc/PID; mem: its memory. Returns 0, even if none has a name; -EINVAL; or the error of a
 * read.
 */
int names_reader__read(struct names_reader *r, int dir, int mem, const struct py_offsets *offsets,
		       __u64 runtime_addr, const struct probe_names_ask *ask,
		       struct probe_names *ret) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_PROBE_PROBE_NAMES_H */
