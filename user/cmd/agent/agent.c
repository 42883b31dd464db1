/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent.c - krait agent: turns options into an agent and gives it the requested sinks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/resources.h"
#include "agent/notify.h"
#include "cmd/common/config_file.h"
#include "cmd/agent/agent_options.h"
#include "cmd/agent/agent_outputs.h"
#include "cmd/agent/agent_snapshot.h"
#include "cmd/common/commands.h"
#include "cmd/common/complete.h"
#include "cmd/record/live_options.h"
#include "agent/keep/keep.h"
#include "native/names/kernel_symbols.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/data/cleanup.h"
#include "base/system/priority.h"
#include "base/files/secret_file.h"
#include "base/data/vec.h"

struct agent_command {
	int argc; /* as krait was started */
	char **argv;
	struct config_arguments
		*arguments; /* merged with the configuration, one per time it was read */
	unsigned argument_cnt, argument_cap;
	struct agent_options options;
	struct agent_config config;
	struct agent *agent;
	struct host host;
	struct resources *resources;
	struct agent_outputs outputs;
	struct kernel_symbols *kernel_symbols;
	struct priority priority;
	struct keep *keep; /* NULL: nothing is kept on this host */
};

static void reload(void *ctx);

/* How long a server may be out before one user's names push out what others have waiting for it. */
#define OUTAGE_NS (3600 * NS_PER_SEC)
#define OUTAGE_IN_MEMORY_NS (600 * NS_PER_SEC)
/* How far back the memory should go, if the user only said how large it may be. */
#define KEPT_NS (24 * 3600 * NS_PER_SEC)

static void bound_names(const struct agent_options *o, struct payers_config *ret)
{
	if (agent_memory_is_on(&o->memory))
		payers_bound(ret, agent_memory_bytes(&o->memory),
			     o->memory.keep_ns ? o->memory.keep_ns : KEPT_NS);
	if (o->export.destination_cnt && o->export.spool_dir)
		payers_bound(ret,
			     o->export.spool_bytes ? o->export.spool_bytes : EXPORTER_SPOOL_BYTES,
			     OUTAGE_NS);
	else if (o->export.destination_cnt)
		payers_bound(ret, EXPORTER_MEMORY_BYTES, OUTAGE_IN_MEMORY_NS);
}

static void configure(struct agent_command *c)
{
	const struct record_options *o = &c->options.record;
	struct session_config *session;

	c->config = (struct agent_config){
		.session = live_options_session(o),
		.interval_ns = c->options.interval_ns,
		.cpu_budget = c->options.cpu_budget,
		.memory_bytes = c->options.memory_bytes,
		.resources = c->resources,
		.reload = reload,
		.reload_ctx = c,
	};
	session = &c->config.session;
	session->sampler.states = o->off_cpu;
	session->collector.natives.addresses = c->keep;
	session->collector.natives.kernel_symbols = c->kernel_symbols;
	session->priority = &c->priority;
	bound_names(&c->options, &c->config.payers);
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
	if (agent_outputs_open(&c->outputs, &c->options, c->resources, c->host.uts.nodename,
			       &c->config, err))
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

/* Prints an address without a name and a password in it. */
static void put_address(FILE *out, const char *url)
{
	const char *scheme = strstr(url, "://"), *host = scheme ? scheme + 3 : url;
	const char *at = memchr(host, '@', strcspn(host, "/?#"));

	fprintf(out, "%.*s%s", (int)(host - url), url, at ? at + 1 : host);
}

/* Who starts it wants to know that it runs, and where its samples go. */
static void say_start(const struct agent_options *o)
{
	cleanup_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	fprintf(out, "sampling at %llu Hz", o->record.frequency);
	for (unsigned i = 0; i < o->export.destination_cnt; i++) {
		fputs(i ? ", " : ", sending to ", out);
		put_address(out, o->export.destinations[i].url);
	}
	if (o->otlp_dir)
		fprintf(out, ", writing to %s", o->otlp_dir);
	for (unsigned i = 0; i < o->listen_cnt; i++)
		fprintf(out, "%s%s", i ? ", " : ", listening on ", o->listen[i]);
	if (agent_memory_is_on(&o->memory))
		fprintf(out, ", keeping what was last");
	if (!fclose(out) && text)
		log_info(NULL, "%s", text);
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
	agent_outputs_connect(&c->outputs, c->agent, c->keep);
	say_start(&c->options);
	return agent__run(c->agent, err);
}

/* ---- files that options name ------------------------------------------------------------------ */

static int check_file(const char *path, const char *what, bool secret, struct error *err)
{
	cleanup_free char *text = NULL;
	int r = path ? secret_file_read(&text, path, what, secret, err) : 0;

	if (text)
		explicit_bzero(text, strlen(text));
	return r;
}

static int check_token(const char *path, struct error *err)
{
	cleanup_free char *text = NULL;
	int r = path ? secret_file_token(&text, path, err) : 0;

	if (text)
		explicit_bzero(text, strlen(text));
	return r;
}

/* The start would read these files: returns 0, or a negative result with *err filled. */
static int check_files(const struct agent_options *o, struct error *err)
{
	int r = check_token(o->listen_cnt ? o->listen_token_file : NULL, err);

	for (unsigned i = 0; i < o->export.destination_cnt && !r; i++) {
		const struct exporter_destination *d = &o->export.destinations[i];

		r = check_token(d->token_file, err);
		if (!r)
			r = check_file(d->ca_file, "CA file", false, err);
		if (!r)
			r = check_file(d->cert_file, "client certificate", false, err);
		if (!r)
			r = check_file(d->key_file, "client key", true, err);
	}
	return r;
}

/* ---- another configuration -------------------------------------------------------------------- */

/* A mistake ends the process that parses it, so a child tries first. */
static bool is_fine(const struct config_arguments *arguments)
{
	struct agent_options options;
	pid_t pid = fork();
	int status;

	if (!pid) {
		agent_options_parse(&options, arguments->argc, arguments->argv);
		_exit(EXIT_CODE_OK);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CODE_OK;
}

static bool takes_other_things(const struct record_options *a, const struct record_options *b)
{
	return a->off_cpu != b->off_cpu || a->native != b->native || a->kernel != b->kernel ||
	       a->async != b->async || a->task_names != b->task_names ||
	       a->greenlets != b->greenlets;
}

static void apply(struct agent_command *c, const struct agent_options *next)
{
	struct agent_options *o = &c->options;
	bool same = agent_export_options_same(&o->export, &next->export);
	struct error err;

	if (takes_other_things(&next->record, &o->record))
		log_warn(
			NULL,
			"--off-cpu, --native, --kernel, --async, --task-names and --greenlets take "
			"effect when krait agent is restarted");
	o->record.frequency = o->record.events[0].frequency = next->record.frequency;
	c->config.interval_ns = next->interval_ns;
	c->config.cpu_budget = next->cpu_budget;
	c->config.memory_bytes = next->memory_bytes;
	agent__reconfigure(c->agent);
	log_as_json(next->log_json);
	agent_export_options_copy(&o->export, &next->export);
	if (agent_outputs_reload(&c->outputs, &o->export, same, &err))
		log_error(NULL, "krait sends nothing until the configuration is corrected: %s",
			  err.text);
}

static void reload(void *ctx)
{
	struct agent_command *c = ctx;
	struct agent_options *next = calloc(1, sizeof(*next));
	struct config_arguments arguments = { 0 };
	struct error err = { .text = "out of memory" };

	notify__say(c->outputs.notify, "RELOADING=1");
	if (!next || vec_reserve(c->arguments, c->argument_cap, c->argument_cnt + 1) ||
	    config_file_load(&arguments, config_file_path(c->argc, c->argv), NULL, &agent_argp,
			     c->argc, c->argv, &err)) {
		log_error(NULL, "the configuration stays as it was: %s", err.text);
	} else if (!is_fine(&arguments)) {
		log_error(NULL, "the configuration stays as it was");
		config_arguments_free(&arguments);
	} else {
		/* Earlier ones stay alive: options point into them. */
		c->arguments[c->argument_cnt++] = arguments;
		agent_options_parse(next, arguments.argc, arguments.argv);
		apply(c, next);
		log_info(NULL, "the configuration was read again");
	}
	free(next);
	notify__say(c->outputs.notify, "READY=1");
}

/* ---- begin and end ---------------------------------------------------------------------------- */

/* Tells whether anything receives the samples. */
static bool has_receiver(const struct agent_options *o)
{
	return o->otlp_dir || o->listen_cnt || o->export.destination_cnt ||
	       agent_memory_is_on(&o->memory);
}

static int start(struct agent_command *c, struct error *err)
{
	struct config_arguments arguments;

	if (vec_reserve(c->arguments, c->argument_cap, 1))
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	if (config_file_load(&arguments, config_file_path(c->argc, c->argv), NULL, &agent_argp,
			     c->argc, c->argv, err))
		return -1;
	c->arguments[c->argument_cnt++] = arguments;
	agent_options_parse(&c->options, arguments.argc, arguments.argv);
	log_as_json(c->options.log_json);
	if (c->options.check_config) {
		if (check_files(&c->options, err))
			return -1;
		puts("krait: the configuration is fine");
		return 0;
	}
	if (!has_receiver(&c->options))
		return error_set(err, EINVAL, EXIT_CODE_USAGE,
				 "krait agent has no output: use --otlp-endpoint, "
				 "--pprof-endpoint, --otlp-dir, --listen or --keep");
	if (c->options.record.realtime)
		priority_raise(&c->priority);
	c->kernel_symbols = kernel_symbols__new(KALLSYMS);
	if (!c->kernel_symbols)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	return run(c, err);
}

static void end(struct agent_command *c)
{
	keep__free(c->keep);
	agent_outputs_disconnect(&c->outputs);
	/* They use the session's probers. */
	resources__free(c->resources);
	agent__free(c->agent);
	agent_outputs_close(&c->outputs);
	kernel_symbols__free(c->kernel_symbols);
	for (unsigned i = 0; i < c->argument_cnt; i++)
		config_arguments_free(&c->arguments[i]);
	free(c->arguments);
	free(c);
}

int cmd_agent(int argc, char **argv)
{
	static char snapshot[] = "krait agent snapshot";
	struct agent_command *c;
	struct error err = { .code = EXIT_CODE_KERNEL };
	int code = EXIT_CODE_OK;

	if (argc > 1 && !strcmp(argv[1], "snapshot")) {
		argv[1] = snapshot;
		return cmd_agent_snapshot(argc - 1, argv + 1);
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return EXIT_CODE_KERNEL;
	c->argc = argc;
	c->argv = argv;
	/* A configuration file has no part in that. */
	if (complete_begun())
		agent_options_parse(&c->options, argc, argv);
	if (start(c, &err)) {
		log_error(NULL, "%s%s", err.text, error_doctor(err.code));
		code = err.code;
	}
	end(c);
	return code;
}
