/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.c - krait record: options to a session, its profile to the outputs, its outcome to an exit
 * code.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd/broker/client.h"
#include "cmd/common/commands.h"
#include "capture/perfmap/perf_map.h"
#include "cmd/common/outputs.h"
#include "cmd/common/page_sources.h"
#include "cmd/record/by_broker.h"
#include "cmd/record/live_options.h"
#include "cmd/record/progress.h"
#include "cmd/record/record_options.h"
#include "cmd/record/record_probes.h"
#include "cmd/record/record_report.h"
#include "cmd/record/record_ring.h"
#include "record/run/session.h"
#include "native/names/kernel_symbols.h"
#include "process/parser/fetcher.h"
#include "capture/perfmap/mapper.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/files/output_file.h"
#include "base/system/priority.h"
#include "base/worker/own.h"

/* How often the progress line is updated. */
#define PROGRESS_NS (NS_PER_SEC / 4)

/* Real-time limit without a pause after the recording: enough to write ordinary files. */
#define REALTIME_USEC 200000

struct record_command {
	struct output_file *inputs; /* NULL: not logged */
	struct record_options options;
	struct outputs *outputs;
	struct utsname host;
	char *command_line;
	struct emit_options emit;
	struct page_sources sources;
	struct session_config config;
	struct session *session;
	struct dict_holder holder; /* for outputs that have already written ids */
	struct kernel_symbols *kernel_symbols;
	struct mapper *mapper; /* NULL: no perf maps */
	unsigned maps; /* number of maps written */
	bool progress; /* show a live line on stderr */
	__u64 progress_ns, progress_samples; /* of the last progress line */
	struct priority priority; /* before krait raised it */
};

/* Joins argv into one line, for headers. */
static char *join(int argc, char **argv)
{
	char *line = NULL;
	size_t size;
	FILE *f = open_memstream(&line, &size);

	if (!f)
		return NULL;
	fputs(argv[0], f);
	for (int i = 1; i < argc; i++)
		fprintf(f, " %s", argv[i]);
	fclose(f);
	return line;
}

/* Failure is reported but not fatal: the capture has the names too. */
static FILE *open_map(void *ctx, int pid)
{
	struct record_command *r = ctx;
	char path[64];
	int fd = mapper__open(r->mapper, pid, session__start_ticks(r->session, pid),
			      PERF_MAP_FIRST_LINE, path, sizeof(path));
	FILE *file = fd < 0 ? NULL : fdopen(fd, "we");

	if (fd >= 0 && !file)
		close(fd);
	if (file)
		r->maps++;
	else if (fd == -EEXIST)
		log_warn(NULL,
			 "%s of process %d exists and is not krait's: krait leaves it as it "
			 "is",
			 path, pid);
	else if (fd == -EPERM)
		log_warn(NULL, "%s of process %d is not written: its /tmp is not the usual one",
			 path, pid);
	else
		log_warn(NULL, "%s of process %d: %s", path, pid, strerror(fd < 0 ? -fd : ENOMEM));
	return file;
}

static void map_failed(void *ctx, int pid, int err)
{
	struct record_command *r = ctx;

	r->maps--;
	log_warn(NULL, "the perf map of process %d is left empty: %s", pid, strerror(-err));
}

static int find_kernel(void *ctx, __u64 *ret_start, __u64 *ret_size)
{
	struct record_command *r = ctx;

	return kernel_symbols__text(r->kernel_symbols, ret_start, ret_size);
}

static int open_outputs(struct record_command *r, struct error *err)
{
	const struct record_options *o = &r->options;

	r->emit = (struct emit_options){
		.lines = o->lines,
		.threads = o->threads,
		.no_process = o->no_process,
		.wait_kernel = o->wait_kernel,
		.editor = o->editor,
		.compression = o->compression,
		.unattended = own_is(),
		.title = "krait",
		.recording = {
			.host = r->host.nodename,
			.kernel = r->host.release,
			.command_line = r->command_line,
			.frequency = o->events[0].frequency,
			.events = o->events,
			.event_cnt = o->event_cnt,
		},
		.open_map = o->perf_map ? open_map : NULL,
		.map_failed = map_failed,
		.open_map_ctx = r,
		.find_kernel = own_is() ? NULL : find_kernel,
		.find_kernel_ctx = r,
	};
	r->sources.apart = true;
	if (!o->no_source)
		page_sources_offer(&r->sources, &r->emit);
	r->outputs = outputs__new(true);
	if (!r->outputs)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	if (o->wall)
		outputs__join_time(r->outputs);
	for (size_t i = 0; i < o->output_cnt; i++) {
		if (outputs__add(r->outputs, o->outputs[i], o->format, o->default_output, &r->emit,
				 err))
			return -1;
	}
	if (o->compression && !outputs__has(r->outputs, "perf"))
		return error_set(err, EINVAL, EXIT_CODE_USAGE,
				 "-z compresses a perf.data, and none of the outputs is one "
				 "(-o FILE.data)");
	if (o->perf_map && !outputs__has(r->outputs, "perf"))
		return error_set(err, EINVAL, EXIT_CODE_USAGE,
				 "--perf-map names the addresses in a perf.data, and none of the "
				 "outputs is one (-o FILE.data)");
	return 0;
}

static void on_sample(void *ctx, const struct profile *profile, const struct profile_sample *sample)
{
	struct record_command *r = ctx;

	if (!outputs__sample(r->outputs, profile, sample))
		session__end(r->session);
}

static int open_inputs(struct record_command *r, struct error *err)
{
	int result = output_file__open(&r->inputs, r->options.inputs, OUTPUT_FILE_REPLACE);

	return result ? error_set(err, -result, EXIT_CODE_OUTPUT, "%s: %s", r->options.inputs,
				  output_file_strerror(result)) :
			0;
}

/* The recording is still good without the log. */
static void close_inputs(struct record_command *r)
{
	int result = session__end_inputs(r->session);

	if (!result)
		result = output_file__finish(r->inputs);
	if (result)
		log_warn(NULL, "%s: %s", r->options.inputs, output_file_strerror(result));
}

/*
 * Source lines of native code. A perf.data alone leaves them to its readers, unless inlined
 * functions are wanted.
 */
static bool wants_sources(const struct record_command *r)
{
	return r->options.lines || r->options.inlined || outputs__use_sources(r->outputs);
}

/* The log needs one question per place, in order of appearance. */
static bool may_name_late(const struct record_command *r)
{
	return !outputs__use_names(r->outputs) && !r->options.inputs;
}

/* If a name may arrive later from a server, each place is a separate frame until then. */
static bool fetches(const struct record_command *r)
{
	return r->options.native && may_name_late(r) && fetch_has_servers();
}

/* Derives the session's configuration from the options and the outputs' needs. */
static struct session_config config_of(struct record_command *r)
{
	const struct record_options *o = &r->options;

	struct session_config c = live_options_session(o);
	struct native_part_options *natives = &c.collector.natives;

	c.becoming = o->becoming;
	c.command = o->command;
	c.sampler.unwind_bytes = o->unwind_bytes;
	c.sampler.whole_time = o->wall;
	c.sampler.jitter = o->jitter;
	c.sampler.budget_permille = o->budget_permille;
	c.sampler.states = o->states || o->holds_gil;
	c.sampler.opcodes = o->opcodes;
	c.collector.states = o->states;
	c.collector.holds_gil = o->holds_gil;
	c.collector.on_sample = on_sample;
	c.collector.on_sample_ctx = r;
	natives->interpreter = o->interpreter_frames;
	natives->addresses = outputs__use_addresses(r->outputs) || wants_sources(r) || fetches(r);
	natives->hides_kernel = own_is();
	natives->late_names = may_name_late(r);
	natives->fetches = fetches(r);
	natives->sources = wants_sources(r);
	natives->inlined = o->inlined;
	natives->kernel_symbols = r->kernel_symbols;
	c.knows_starts = o->perf_map;
	c.sources = !o->no_source &&
		    (outputs__has(r->outputs, "perf") || outputs__has(r->outputs, "html"));
	c.tables |= o->tasks_ns > 0;
	c.census_ns = o->tasks_ns;
	c.says_costs = true;
	c.say_starting = r->progress;
	c.inputs = r->inputs ? output_file__stream(r->inputs) : NULL;
	c.priority = &r->priority;
	return c;
}

static int start(struct record_command *r, struct error *err)
{
	const struct record_options *o = &r->options;

	if (o->inputs && open_inputs(r, err))
		return -1;
	r->progress = !o->quiet && progress_suits(STDERR_FILENO, o->command);
	r->config = config_of(r);
	if (o->perf_map && !(r->mapper = mapper__new(err)))
		return -1;
	r->session = session__new(&r->config, err);
	if (!r->session)
		return -1;
	if (outputs__take_samples(r->outputs))
		dict__hold(session__profile(r->session)->dict, &r->holder);
	return 0;
}

static void show_progress(struct record_command *r, __u64 now_ns)
{
	double interval = (double)(now_ns - r->progress_ns) / NS_PER_SEC;
	struct session_progress now;

	session__progress(r->session, &now);
	progress_print(
		stderr,
		&(struct progress){
			.seconds = (double)(now_ns - session__began_ns(r->session)) / NS_PER_SEC,
			.samples = now.samples,
			.interrupts = now.samples + now.lost,
			.lost = now.lost,
			.rate = (double)(now.samples - r->progress_samples) / interval,
			.processes = now.processes,
			.command = r->options.command,
		});
	r->progress_samples = now.samples;
	r->progress_ns = now_ns;
}

/* Does what is due by the clock, even without samples. */
static void tick(struct record_command *r)
{
	__u64 now_ns = clock_monotonic_ns();

	if (!outputs__tick(r->outputs, session__profile(r->session), now_ns))
		session__end(r->session);
	if (r->progress && now_ns - r->progress_ns >= PROGRESS_NS)
		show_progress(r, now_ns);
}

static int run(struct record_command *r, struct error *err)
{
	int result = session__open(r->session, err);

	if (result)
		return result;
	own_began();
	r->emit.recording.began_ns = r->progress_ns = session__began_ns(r->session);
	r->emit.recording.began_wall_ns =
		(__s64)r->emit.recording.began_ns + clock_wall_offset_ns();
	while (session__step(r->session, PROGRESS_NS))
		tick(r);
	if (r->progress)
		progress_clear(stderr);
	session__close(r->session);
	if (r->inputs)
		close_inputs(r);
	return 0;
}

/* A failure of the launched command outranks krait's losses; a missing file outranks both. */
static int report(struct record_command *r)
{
	struct record_report said = { .options = &r->options,
				      .session = r->session,
				      .outputs = r->outputs };
	struct error err;
	int code, printed;

	session__stats(r->session, &said.stats);
	r->emit.recording.seconds = said.stats.seconds;
	printed = record_report_print(&said);
	code = record_report_judge(&said);
	if (!code)
		code = printed;
	if (outputs__finish(r->outputs, session__profile(r->session), 0, r->options.quiet, &err)) {
		log_error(NULL, "%s", err.text);
		code = err.code;
	}
	if (r->maps)
		log_info(NULL, "wrote perf maps of %u process%s: /tmp/perf-PID.map", r->maps,
			 r->maps == 1 ? "" : "es");
	return code;
}

/* Captures in a ring have their names from the start: they end at any time. */
static int record_ring(struct record_command *r, struct error *err)
{
	const struct recording recording = { .host = r->host.nodename,
					     .kernel = r->host.release,
					     .command_line = r->command_line };
	struct native_part_options *natives;
	int code, result;

	r->outputs = outputs__new(true);
	if (!r->outputs)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	r->config = config_of(r);
	natives = &r->config.collector.natives;
	natives->addresses = true;
	natives->late_names = natives->fetches = natives->sources = natives->inlined = false;
	result = record_ring_run(&r->options, &r->config, &recording, find_kernel, r, &code, err);
	return result ? result : code;
}

static int record(struct record_command *r)
{
	struct error err = { .code = EXIT_CODE_KERNEL };
	int result;

	if (record_probes_find(&r->options, &err)) {
		log_error(NULL, "%s", err.text);
		return err.code;
	}
	r->kernel_symbols = kernel_symbols__new(KALLSYMS);
	if (r->kernel_symbols && r->options.ring.on) {
		result = record_ring(r, &err);
		if (result >= 0)
			return result;
		log_error(NULL, "%s%s", err.text, error_doctor(err.code));
		return err.code;
	}
	result = r->kernel_symbols ? open_outputs(r, &err) :
				     error_set(&err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	if (!result)
		result = start(r, &err);
	if (!result)
		result = run(r, &err);
	if (!result) {
		/* The session's threads have ended, and writing files may take long. */
		if (r->priority.raised)
			priority_bound(REALTIME_USEC);
		session__read_sources(r->session);
		return report(r);
	}
	log_error(NULL, "%s%s", err.text, error_doctor(err.code));
	if (err.code == EXIT_CODE_PERMISSION && client_would_help())
		log_info(
			NULL,
			"without sudo: an administrator can start krait's service for everybody's own "
			"processes (krait setup)");
	return err.code;
}

int record_load_ahead(int argc, char **argv, struct error *err)
{
	struct record_command r = { 0 };
	int result;

	record_options_parse(&r.options, argc, argv);
	r.outputs = outputs__new(true);
	if (!r.outputs)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	r.config = config_of(&r);
	result = session_load_ahead(&r.config, err);
	outputs__free(r.outputs);
	record_probes_free(&r.options);
	return result;
}

int cmd_record(int argc, char **argv)
{
	struct record_command *r = calloc(1, sizeof(*r));
	int code;

	if (!r)
		return EXIT_CODE_KERNEL;
	record_options_parse(&r->options, argc, argv);
	/* Do this first: on busy CPUs every step would have to queue. */
	if (r->options.realtime)
		priority_raise(&r->priority);
	log_set_level(r->options.quiet	 ? LOG_LEVEL_ERROR :
		      own_is()		 ? LOG_LEVEL_WARN :
		      r->options.verbose ? LOG_LEVEL_DEBUG :
					   LOG_LEVEL_INFO);
	r->command_line = join(argc, argv);
	uname(&r->host);
	code = !r->options.ring.on && client_is_possible() ?
		       by_broker_record(&r->options, r->command_line) :
		       record(r);
	if (r->session)
		dict__release(session__profile(r->session)->dict, &r->holder);
	session__free(r->session);
	output_file__free(r->inputs);
	outputs__free(r->outputs);
	if (r->options.open && code != EXIT_CODE_EMPTY)
		page_open(r->options.outputs, r->options.output_cnt);
	mapper__free(r->mapper);
	kernel_symbols__free(r->kernel_symbols);
	free(r->command_line);
	record_probes_free(&r->options);
	free(r);
	return code;
}
