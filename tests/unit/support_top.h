/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_top.h - a model of krait top with samples made by hand: two processes with known figures.
 */
#ifndef KRAIT_TESTS_SUPPORT_TOP_H
#define KRAIT_TESTS_SUPPORT_TOP_H

#include "cmd/top/model.h"

#define SECOND 1000000000ULL
#define TICK 10000000ULL /* a sample at 100 Hz */
#define PID_A 100
#define PID_B 200
#define FED_PIDS 65536

struct fed {
	struct profile *session;
	struct model *model;
	__u64 now_ns; /* starts at 10 s */
	bool gone[FED_PIDS]; /* by pid: the process has ended */
};

void fed_begin(struct fed *f, bool off_cpu);
void fed_end(struct fed *f);

/*
 * Returns the node of a stack of process pid: "main;work;hot"; each function's line is given by its
 * position.
 */
__u32 fed_stack(struct fed *f, int pid, const char *functions);
/* Adds cnt samples of time on a CPU, now. */
void fed_cpu(struct fed *f, __u32 node, unsigned cnt);
/* Adds a wait of that length that ends now. */
void fed_wait(struct fed *f, __u32 node, enum state state, __u64 ns);
/* Lets a second pass and ends a round. */
void fed_round(struct fed *f);
/* Returns the row with that name; NULL: none. */
const struct row *fed_row(const struct fed *f, const char *name);
/* Returns the view's names from the first row on, "hot work main", in the buffer. */
const char *fed_names(const struct fed *f, char *buf, size_t size);

#endif /* KRAIT_TESTS_SUPPORT_TOP_H */
