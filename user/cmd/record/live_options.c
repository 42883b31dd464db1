/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/record/live_options.h"

#include <string.h>

#include "cmd/common/arguments.h"
#include "cmd/record/record_targets.h"
#include "kernel/sampler/perf_events.h"

void live_options_defaults(struct record_options *ret)
{
	record_options_defaults(ret);
	ret->native = ret->kernel = false;
}

static void parse_async(struct record_options *o, const char *arg, struct argp_state *state)
{
	if (arg && strcmp(arg, "tasks") && strcmp(arg, "both"))
		arguments_refuse(state, "--async takes tasks or both, not \"%s\"", arg);
	o->async = arg && !strcmp(arg, "both") ? ASYNC_BOTH : ASYNC_TASKS;
}

error_t live_option(struct record_options *o, int key, const char *arg, struct argp_state *state)
{
	switch (key) {
	case 'd':
		arguments_time(&o->duration_ns, arg, state);
		return 0;
	case 'r':
	case 'F':
		if (strcmp(arg, "max"))
			arguments_rate(&o->frequency, arg, state);
		else
			o->frequency = (__u64)perf_events_max_rate();
		if (!o->frequency)
			arguments_refuse(
				state,
				"the kernel does not say which rate it allows: give a number");
		return 0;
	case LIVE_OFF_CPU:
		o->off_cpu = true;
		if (arg)
			arguments_time(&o->off_cpu_ns, arg, state);
		return 0;
	case LIVE_NATIVE:
		o->native = true;
		return 0;
	case LIVE_KERNEL:
		o->kernel = true;
		return 0;
	case LIVE_NO_REALTIME:
		o->realtime = false;
		return 0;
	case LIVE_ASYNC:
		parse_async(o, arg, state);
		o->wants_tasks = true;
		return 0;
	case LIVE_NO_ASYNC:
		o->async = ASYNC_OFF;
		return 0;
	case LIVE_TASK_NAMES:
		o->task_names = o->wants_tasks = true;
		return 0;
	case LIVE_GREENLETS:
	case LIVE_NO_GREENLETS:
		o->greenlets = key == LIVE_GREENLETS;
		return 0;
	default:
		return record_targets_option(o, key, arg, state);
	}
}

struct session_config live_options_session(const struct record_options *o)
{
	return (struct session_config){
		.all = o->all,
		.filter = o->filter,
		.pids = o->pids,
		.pid_cnt = o->pid_cnt,
		.sampler = { .events = o->events,
			     .event_cnt = o->event_cnt,
			     .ring_bytes = o->ring_bytes,
			     .audit_every = o->audit_every,
			     .task_names = o->task_names,
			     .greenlets = o->greenlets },
		.collector = { .events = o->events,
			       .event_cnt = o->event_cnt,
			       .label = o->label,
			       .async = o->async,
			       .thread = o->thread,
			       .natives = { .native = o->native, .kernel = o->kernel } },
		.duration_ns = o->duration_ns,
		.anchors = o->anchors,
		.tables = o->async != ASYNC_OFF,
	};
}
