/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event_tracepoint.h - the kernel's tracepoints, by perf's names: "sched:sched_process_exec", "syscalls:sys_enter_*". What
 * there is, tracefs says, which is mounted for root.
 */
#ifndef KRAIT_BASE_SYSTEM_EVENT_TRACEPOINT_H
#define KRAIT_BASE_SYSTEM_EVENT_TRACEPOINT_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/system/event.h"
#include "base/system/event_filter.h"

struct event_tracepoint {
	__u64 id; /* the kernel's number */
	const char *folder, *name; /* of the folder of its files: FOLDER/NAME/format */
};

/*
 * Calls fn with each that matches, until it returns other than 0, which is the result. Returns their number or -errno. For
 * all system calls there is one tracepoint.
 */
int event_tracepoints(const char *name, int (*fn)(void *ctx, const struct event_tracepoint *t),
		      void *ctx) __attribute__((warn_unused_result, nonnull(1, 2)));
/* The event's name, with that of the tracepoint if it is another: the event may stand for many. */
void event_tracepoint_name(char *ret, size_t size, const char *event,
			   const struct event_tracepoint *t) __attribute__((nonnull));
/* A filter of the event's for one of its tracepoints. Returns 0 or -errno with why filled. */
int event_tracepoint_filter(struct filter_program *ret, const struct event_tracepoint *t,
			    const char *filter, char *why, size_t why_size)
	__attribute__((warn_unused_result, nonnull));
/* Does the filter fit all that match? */
int event_tracepoint_check(const struct event_spec *e, const char *filter, char *why,
			   size_t why_size) __attribute__((warn_unused_result, nonnull));
/* Makes *e an event of those that match its name. Returns 0 or -errno with why filled. */
int event_tracepoint_parse(struct event_spec *e, char *why, size_t why_size)
	__attribute__((warn_unused_result));

#endif /* KRAIT_BASE_SYSTEM_EVENT_TRACEPOINT_H */
