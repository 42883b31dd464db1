/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_options.h - the command line of krait record as a struct. Nothing else reads argv.
 */
#ifndef KRAIT_CMD_RECORD_RECORD_OPTIONS_H
#define KRAIT_CMD_RECORD_RECORD_OPTIONS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "record/anchors/anchoring.h"
#include "record/stack/edits.h"
#include "record/follow/filter.h"
#include "profile/thread_filter.h"
#include "base/system/event.h"

#define RECORD_MAX_PIDS 256
#define RECORD_MAX_OUTPUTS 16

struct argp_state;

/* A recording that writes several captures, or only what was last (record_ring.h). */
struct ring_options {
	bool on;
	bool overwrites; /* keeps what was last until something asks for it */
	__u64 keep_ns; /* how much of it */
	__u64 switch_ns, switch_bytes; /* a file for each; 0: none */
	unsigned max_files; /* 0: any number */
	__u64 wait_ns; /* a wait that long asks for it; 0: none does */
	double cpus; /* so much CPU time a second does; 0: none */
	bool failure; /* a command that fails does */
};

struct record_options {
	bool all;
	struct filter filter;
	unsigned label; /* enum label_part */
	bool label_given;
	pid_t pids[RECORD_MAX_PIDS];
	size_t pid_cnt;
	char **command; /* NULL: none */
	struct event_spec events[KRAIT_MAX_EVENTS]; /* each with its rate or period */
	unsigned event_cnt;
	__u64 frequency; /* Hz; 0: no event has a rate */
	__u64 period; /* events per sample; 0: no event has a period */
	__u64 duration_ns; /* 0: no limit */
	bool off_cpu; /* also sample time off the CPU */
	__u64 states; /* a set of profile/states.h; 0: all */
	bool holds_gil; /* only threads that hold the GIL */
	struct thread_filter thread;
	bool wall; /* both as one measure, if an output shows only one */
	__u64 off_cpu_ns; /* shorter waits are sampled by chance */
	const char *outputs[RECORD_MAX_OUTPUTS];
	size_t output_cnt;
	bool default_output; /* no output was named: keep the old file as perf.data.old */
	const char *format; /* NULL: decide by suffix */
	const char *inputs; /* log of inputs; NULL: none */
	__u64 ring_bytes; /* 0: default */
	__u64 unwind_bytes; /* 0: default */
	double max_loss_percent;
	enum anchor_mode anchors;
	__u32 audit_every; /* check one of so many deltas; 0: none */
	__u64 tasks_ns; /* between two counts of suspended tasks; 0: do not count */
	bool task_names; /* names of asyncio tasks, in their stacks */
	bool opcodes; /* of each Python frame's instruction */
	bool memory; /* the events of memory, before all others */
	bool jitter; /* vary the rate all the time */
	__u32 budget_permille; /* of a process's time, for its samples; 0: as much as they take */
	bool lines, threads, no_process, no_source, quiet, stats, perf_map;
	int compression; /* of perf.data: zstd's level; 0: none */
	struct ring_options ring;
	bool native, kernel, interpreter_frames;
	const char *editor; /* of links in pages; NULL: none */
	bool open; /* show the page in a browser */
	bool wait_kernel; /* a page has the kernel's functions below waits */
	bool greenlets; /* the parents of the running greenlet come before it */
	enum async_mode async; /* how to show stacks of asyncio tasks */
	bool wants_tasks; /* the user asked for tasks explicitly */
	bool inlined; /* functions inlined in native code become frames */
	bool becoming; /* the pids are about to execute what is to be recorded */
	bool realtime; /* raise krait's own priority */
	int verbose;
};

/* Sets the defaults. */
void record_options_defaults(struct record_options *ret);
/*
 * Fills *ret, or ends the process with the usage message (exit code 2) or --help. Strings point
 * into argv.
 */
void record_options_parse(struct record_options *ret, int argc, char **argv);

#endif /* KRAIT_CMD_RECORD_RECORD_OPTIONS_H */
