/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_child.h - the perf that krait starts: an unmodified one, whose events begin disabled, and whose command waits.
 *
 * Life: start -> await ready, when its events are open -> go, which enables them and lets the command begin -> ended.
 */
#ifndef KRAIT_CMD_PERF_PERF_CHILD_H
#define KRAIT_CMD_PERF_PERF_CHILD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "cmd/perf/perf_line.h"

struct error;

struct perf_child {
	pid_t pid;
	int pidfd; /* readable when it has ended */
	int control, answers; /* -1: the user's own --control */
	int delay_ms; /* the user's: how long its events wait after its command's begin; -1: for ever */
	pthread_t enabler; /* valid if enables: waits for that */
	bool enables;
	int gate; /* a byte in it lets its command begin; -1: there is none, or it does not wait */
	int status; /* from waitpid(), once it has ended */
	bool ended;
};

/* Returns what "perf record -h" says, for the caller to free; NULL with *err filled: there is no perf. */
char *perf_child_help(struct error *err);

/* data: perf's standard output; NULL: krait's. Returns 0, or a negative result with *err filled. */
int perf_child_start(struct perf_child *c, const struct perf_line *line, FILE *data,
		     struct error *err) __attribute__((warn_unused_result));
/* Waits until its events are open. False: it has ended before. */
bool perf_child_await(struct perf_child *c);
/* Its command begins, and the events count, from now on or when the user's delay is over. False: perf has not answered. */
bool perf_child_go(struct perf_child *c);
/* Reaps it, waiting for its end. Returns its exit code; 128 + n: signal n. */
int perf_child_wait(struct perf_child *c);
/* Asks it to end, if it has not. */
void perf_child_stop(struct perf_child *c, int signal);
void perf_child_close(struct perf_child *c);

/*
 * What krait is while the command waits (main.c): "krait --perf-gate FDS COMMAND...". FDS: the gate and others to be
 * closed, "3,4,5". Returns only if the command cannot be executed.
 */
#define PERF_GATE "--perf-gate"
int perf_gate(char **argv);

#endif /* KRAIT_CMD_PERF_PERF_CHILD_H */
