/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_options.h - the command line of krait record as a struct; nothing else reads argv.
 */
#ifndef KRAIT_CMD_RECORD_OPTIONS_H
#define KRAIT_CMD_RECORD_OPTIONS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "abi.h"
#include "session/anchoring.h"
#include "session/task_nodes.h"
#include "follow/filter.h"
#include "profile/thread_filter.h"
#include "util/event.h"

#define RECORD_MAX_PIDS 256
#define RECORD_MAX_OUTPUTS 16

struct argp_state;

struct record_options {
	bool all;
	struct filter filter;
	unsigned label; /* enum label_part */
	bool label_given;
	pid_t pids[RECORD_MAX_PIDS];
	size_t pid_cnt;
	char **command; /* NULL none */
	struct event_spec events[KRAIT_MAX_EVENTS]; /* each with its rate or period */
	unsigned event_cnt;
	__u64 frequency; /* Hz; 0: none of them has one */
	__u64 period; /* events for each sample; 0: none of them has one */
	__u64 duration_ns; /* 0: no limit */
	bool off_cpu; /* time off the CPU, too */
	__u64 states; /* a set of profile/states.h; 0: all */
	bool holds_gil; /* only of threads that have it */
	struct thread_filter thread;
	bool wall; /* both as one measure, where an output has one */
	__u64 off_cpu_ns; /* shorter waits are sampled */
	const char *outputs[RECORD_MAX_OUTPUTS];
	size_t output_cnt;
	bool default_output; /* none was named: the earlier one is kept as perf.data.old */
	const char *format; /* NULL: by suffix */
	const char *inputs; /* the log of inputs; NULL none */
	__u64 ring_bytes; /* 0: default */
	__u64 unwind_bytes; /* 0: default */
	double max_loss_percent;
	enum anchor_mode anchors;
	__u32 audit_every; /* deltas for each one that is checked; 0 none */
	__u64 tasks_ns; /* between two counts of suspended tasks; 0: none are wanted */
	bool task_names; /* of asyncio tasks, in their stacks */
	bool opcodes; /* of the instruction of each frame of Python */
	bool jitter; /* the rate changes all the time */
	bool lines, threads, no_process, no_source, quiet, stats, perf_map;
	bool native, kernel, interpreter_frames;
	bool greenlets; /* the parents of the running one come before it */
	enum async_mode async; /* what stacks of asyncio tasks look like */
	bool wants_tasks; /* and that was asked for by name */
	bool inlined; /* functions inlined in native code, as frames */
	bool realtime; /* raise krait's own priority */
	int verbose;
};

/* What nobody said anything of. */
void record_options_defaults(struct record_options *ret);
/* What --async takes; NULL: no argument. Anything else ends the process with a message. */
void record_options_async(struct record_options *o, const char *arg, struct argp_state *state);
/*
 * Fills *ret or ends the process with the usage message (exit code 2), or with --help. Strings point
 * into argv.
 */
void record_options_parse(struct record_options *ret, int argc, char **argv);

#endif /* KRAIT_CMD_RECORD_OPTIONS_H */
