/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_top.h - a model of krait top that is fed by hand: two processes, whose figures are known.
 */
#ifndef KRAIT_TESTS_SUPPORT_TOP_H
#define KRAIT_TESTS_SUPPORT_TOP_H

#include "top/model.h"

#define SECOND 1000000000ULL
#define TICK 10000000ULL /* a sample at 100 Hz */
#define PID_A 100
#define PID_B 200
#define FED_PIDS 65536

struct fed {
	struct profile *session;
	struct model *model;
	__u64 now_ns; /* begins with 10 s */
	bool gone[FED_PIDS]; /* by pid: it has ended */
};

void fed_begin(struct fed *f, bool off_cpu);
void fed_end(struct fed *f);

/* The node of a stack of process pid: "main;work;hot", each function at the line that its place makes it. */
__u32 fed_stack(struct fed *f, int pid, const char *functions);
/* cnt samples of time on a CPU, now. */
void fed_cpu(struct fed *f, __u32 node, unsigned cnt);
/* A wait of that length, which ends now. */
void fed_wait(struct fed *f, __u32 node, enum state state, __u64 ns);
/* A second passes, and a round is over. */
void fed_round(struct fed *f);
/* The row of that name; NULL none. */
const struct row *fed_row(const struct fed *f, const char *name);
/* What the view shows, from the first row on: "hot work main". In the buffer. */
const char *fed_names(const struct fed *f, char *buf, size_t size);

#endif /* KRAIT_TESTS_SUPPORT_TOP_H */
