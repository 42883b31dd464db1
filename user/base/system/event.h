/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event.h - what can be counted: the kernel's perf events, by perf's names.
 *
 * Supports the hardware, hardware cache and software events of linux/perf_event.h, raw ones, and those of named PMUs
 * (event_pmu.h); and places in code: tracepoints (event_tracepoint.h) and functions of programs.
 */
#ifndef KRAIT_BASE_SYSTEM_EVENT_H
#define KRAIT_BASE_SYSTEM_EVENT_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define EVENT_NAME_MAX 128
/* Places of one probe. */
#define EVENT_CODE_MAX 128
/* Processes may have different files of one name. */
#define EVENT_FILES_MAX 32

/* A probe in the code of a program or library: where the kernel puts breakpoints while it is on. */
struct event_code {
	char *file, *place; /* as requested; owned */
	bool is_mark; /* place is a mark in the program (USDT), not a function */
	bool on_return; /* when the function returns */
	int fds[EVENT_FILES_MAX]; /* the files; owned */
	unsigned fd_cnt, cnt;
	struct {
		int fd; /* one of fds */
		__u64 offset; /* in the file */
		__u64 counter_offset; /* of the mark's counter of listeners, in the file; 0: none */
	} list[EVENT_CODE_MAX];
};

struct event_spec {
	char name[EVENT_NAME_MAX]; /* as requested, with modifiers */
	__u32 type; /* PERF_TYPE_*, or a PMU's number */
	__u64 config, config1, config2;
	__u64 frequency; /* samples per second and CPU; or if 0: */
	__u64 period; /* events per sample; ns for clocks */
	bool exclude_user, exclude_kernel;
	__u8 precise; /* precise_ip */
	const struct event_code *code; /* of a probe; NULL: none; borrowed */
	const char *filter; /* of a tracepoint (event_filter.h); NULL: none; borrowed */
	/* Of a group, {a,b}: 1 + its leader's place, which is before it; 0: none. The kernel counts both at the same time. */
	unsigned leader;
	bool is_read; /* {a,b}:S: has no samples of its own, but each of its leader's with what it has counted since */
	bool package_wide; /* its PMU counts for several CPUs together, on one of them */
	bool joined; /* time off the CPU: shown together with the clock's (record --wall) */
};

/* The name of each that has one; NULL: there are no more. Valid until the next call. */
const char *event_listed(unsigned i);

/*
 * Parses a name of len bytes such as "faults", "cycles:u", "L1-dcache-load-misses", "r01c0" or "cpu/event=0x3c/u". Sets
 * rate and period to 0. Returns 0, -EINVAL (unknown), or an error of event_pmu_parse()'s or event_tracepoint_parse()'s
 * with why, else "", filled.
 */
int event_parse(struct event_spec *ret, const char *text, size_t len, char *why, size_t why_size)
	__attribute__((warn_unused_result));

/* It is a tracepoint, or a probe in code: a sample is a thread that comes by. */
bool event_is_probe(const struct event_spec *event);

/* Its periods are nanoseconds, and all samples have equal weight. */
bool event_is_clock(const struct event_spec *event);

/*
 * Its periods are nanoseconds off the CPU, different for each sample. Not a perf event:
 * bpf/switch.bpf.c.
 */
bool event_is_off_cpu(const struct event_spec *event);

/* "offcpu-time", as perf calls it; has all waits of at least that length and samples shorter ones. */
#define EVENT_OFF_CPU "offcpu-time"
void event_off_cpu(struct event_spec *ret, __u64 threshold_ns);

/*
 * "waiting-tasks": suspended asyncio tasks, counted periodically (record/samples/census.h). Not a perf
 * event.
 */
#define EVENT_TASKS "waiting-tasks"
bool event_is_tasks(const struct event_spec *event);
void event_tasks(struct event_spec *ret);

/*
 * record --memory (record/samples/memory.h). "touched-memory": page faults of chosen pages (bpf/fault.h), in bytes.
 * "resident-memory": what of the processes' memory is there, in bytes; not a perf event.
 */
#define EVENT_TOUCHED "touched-memory"
#define EVENT_RESIDENT "resident-memory"
void event_touched(struct event_spec *ret);
void event_resident(struct event_spec *ret);
bool event_is_touched(const struct event_spec *event);
bool event_is_resident(const struct event_spec *event);
/* Its periods are bytes: one of the two. */
bool event_is_bytes(const struct event_spec *event);

/* Is it krait's own, and no perf event? */
bool event_is_made(const struct event_spec *event);

/* Its periods are nanoseconds of a thread's life: on CPU, off CPU, or both. */
bool event_is_time(const struct event_spec *event);

/* "wall-clock": time on and off the CPU in one measure. Not a perf event but the sum of two. */
#define EVENT_WALL "wall-clock"
void event_wall(struct event_spec *ret);

/* The shortest clock period that the kernel supports (perf_swevent_init_hrtimer()). */
#define EVENT_CLOCK_MIN_NS 10000

/* "cpu-clock", the default event. */
void event_default(struct event_spec *ret);

#endif /* KRAIT_BASE_SYSTEM_EVENT_H */
