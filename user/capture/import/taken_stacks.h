/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * taken_stacks.h - the stacks that krait took while it rode along with perf (kernel/sampler/ride.h), by thread and time.
 *
 * They are a capture of one event, whose periods are the times that perf's samples have. Where the kernel did not say
 * these (6.1), they are 0, and a sample of perf's is a little later than ours: it is found if it is the only one in that
 * moment, which needs perf's clock to be krait's, CLOCK_MONOTONIC.
 */
#ifndef KRAIT_CAPTURE_IMPORT_TAKEN_STACKS_H
#define KRAIT_CAPTURE_IMPORT_TAKEN_STACKS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

struct error;
struct taken_stacks;

/* The event's name in that capture. */
#define TAKEN_EVENT "perf-time"

/* A library of krait's, and where it is in every process. */
struct taken_library {
	char *path;
	__u8 build_id[20];
	__u64 start, size;
};

struct taken_stack {
	const __u64 *list; /* of user mode, leaf first, without a marker; valid until free */
	unsigned cnt;
	bool has_python;
};

enum taken_found {
	TAKEN_NONE,
	TAKEN_FOUND,
	TAKEN_SEVERAL, /* and they differ */
};

/* Returns 0, or -errno with *err filled. name: of *in. */
int taken_stacks__read(struct taken_stacks **ret, FILE *in, const char *name, struct error *err)
	__attribute__((warn_unused_result));
void taken_stacks__free(struct taken_stacks *t);

enum taken_found taken_stacks__find(const struct taken_stacks *t, int tid, __u64 time_ns,
				    struct taken_stack *ret);
/* Does one of them belong to that process? */
bool taken_stacks__has(const struct taken_stacks *t, int pid);
/* Are all of that process before that time, or all after it? */
bool taken_stacks__are_before(const struct taken_stacks *t, int pid, __u64 time_ns);
bool taken_stacks__are_after(const struct taken_stacks *t, int pid, __u64 time_ns);
/* Are the times krait's own, taken a little earlier than perf's? */
bool taken_stacks__are_near(const struct taken_stacks *t);
const struct taken_library *taken_stacks__libraries(const struct taken_stacks *t,
						    unsigned *ret_cnt);

#endif /* KRAIT_CAPTURE_IMPORT_TAKEN_STACKS_H */
