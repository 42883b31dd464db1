/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent.c - krait agent: options to an agent, and what it hands on to the sinks that are asked for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/resources.h"
#include "cmd/agent_options.h"
#include "cmd/agent_outputs.h"
#include "cmd/agent_snapshot.h"
#include "cmd/commands.h"
#include "keep/keep.h"
#include "session/label.h"
#include "symbol/kernel_symbols.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/priority.h"

struct agent_command {
	struct agent_options options;
	struct agent_config config;
	struct agent *agent;
	struct host host;
	struct resources *resources;
	struct agent_outputs outputs;
	struct kernel_symbols *kernel_symbols;
	struct priority priority;
	struct keep *keep; /* NULL: nothing is kept here */
};

static void configure(struct agent_command *c)
{
	const struct record_options *o = &c->options.record;

	c->config = (struct agent_config){
		.session = {
			.all = o->all,
			.filter = o->filter,
			.sampler = { .events = o->events,
				     .event_cnt = o->event_cnt,
				     .ring_bytes = o->ring_bytes,
				     .states = o->off_cpu,
				     .native = o->native,
				     .kernel = o->kernel,
				     .audit_every = o->audit_every },
			.collector = { .events = o->events,
				       .event_cnt = o->event_cnt,
				       .label = LABEL_SCRIPT,
				       .natives = { .native = o->native,
						    .kernel = o->kernel,
						    .addresses = c->keep,
						    .kernel_symbols = c->kernel_symbols } },
			.duration_ns = o->duration_ns,
			.anchors = o->anchors,
			.priority = &c->priority,
		},
		.interval_ns = c->options.interval_ns,
		.cpu_budget = c->options.cpu_budget,
		.memory_bytes = c->options.memory_bytes,
		.resources = c->resources,
	};
}

static int find_kernel(void *ctx, __u64 *ret_start, __u64 *ret_size)
{
	struct agent_command *c = ctx;

	return kernel_symbols__text(c->kernel_symbols, ret_start, ret_size);
}

static int open_memory(struct agent_command *c, struct error *err)
{
	const struct recording recording = { .host = c->host.uts.nodename,
					     .kernel = c->host.uts.release };

	if (!agent_memory_is_on(&c->options.memory))
		return 0;
	c->keep = agent_memory_open(&c->options.memory, &recording, find_kernel, c, err);
	return c->keep ? 0 : -1;
}

static int open_sinks(struct agent_command *c, struct error *err)
{
	if (agent_outputs_open(&c->outputs, &c->options, c->resources, &c->config, err))
		return -1;
	if (c->keep)
		agent_config_add(&c->config, (struct agent_sink){ .name = "memory",
								  .sample = keep__sample,
								  .window = keep__window,
								  .step = keep__step,
								  .forget = keep__forget,
								  .ctx = c->keep });
	return 0;
}

static int run(struct agent_command *c, struct error *err)
{
	host_read(&c->host);
	c->resources = resources__new(&c->host);
	if (!c->resources)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	if (open_memory(c, err))
		return -1;
	configure(c);
	if (open_sinks(c, err))
		return -1;
	c->agent = agent__new(&c->config, err);
	if (!c->agent)
		return -1;
	return agent__run(c->agent, err);
}

int cmd_agent(int argc, char **argv)
{
	struct agent_command *c = calloc(1, sizeof(*c));
	struct error err = { .code = EXIT_CODE_KERNEL, .text = "out of memory" };
	int code = EXIT_CODE_OK;

	if (argc > 1 && !strcmp(argv[1], "snapshot")) {
		free(c);
		return cmd_agent_snapshot(argc - 1, argv + 1);
	}
	if (!c)
		return EXIT_CODE_KERNEL;
	agent_options_parse(&c->options, argc, argv);
	if (c->options.record.realtime)
		priority_raise(&c->priority);
	c->kernel_symbols = kernel_symbols__new(KALLSYMS);
	if (!c->kernel_symbols || run(c, &err)) {
		log_error(NULL, "%s", err.text);
		code = err.code;
	}
	keep__free(c->keep);
	/* They ask the session's probers. */
	resources__free(c->resources);
	agent__free(c->agent);
	agent_outputs_close(&c->outputs);
	kernel_symbols__free(c->kernel_symbols);
	free(c);
	return code;
}
