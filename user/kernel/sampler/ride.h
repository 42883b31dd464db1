/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ride.h - riding along: krait's program runs in the interrupts of another program's perf events, an unmodified perf's.
 *
 * The program leaves each of these interrupts to their owner, too. Events that threads inherit take the program with
 * them, so threads and processes that begin later are covered, those that perf -p found before are by events of their
 * own.
 *
 * While a program is attached, the kernel drops an interrupt that hits a CPU in the middle of another BPF program (a
 * kprobe's or a tracepoint's): __bpf_overflow_handler(), kernel/events/core.c.
 */
#ifndef KRAIT_KERNEL_SAMPLER_RIDE_H
#define KRAIT_KERNEL_SAMPLER_RIDE_H

#include <stdbool.h>
#include <sys/types.h>

struct bpf_program;
struct error;

/* All zero: nothing. */
struct ride {
	int *fds; /* of the events; once attached, those of the links to them */
	unsigned cnt;
};

/* Does the process record: has it opened all of its perf events, and mapped their rings, as far as this one may see? */
bool ride_is_possible(pid_t pid);
/*
 * Takes hold of the perf events that the process has open now. Needs the right to trace it. Returns 0, or a negative
 * result with *err filled: -ENOENT: it has none.
 */
int ride_find(struct ride *r, pid_t pid, struct error *err) __attribute__((warn_unused_result));
/* Attaches the program to them without enabling any. Returns 0, or a negative result with *err filled. */
int ride_attach(struct ride *r, const struct bpf_program *program, struct error *err)
	__attribute__((warn_unused_result));
/* Lets go of them: from now on they are as if krait had never been there. Does nothing the second time. */
void ride_detach(struct ride *r);

#endif /* KRAIT_KERNEL_SAMPLER_RIDE_H */
