/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.c - krait record: options to a session, its profile to the outputs, its end to an exit code.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "perfmap/perf_map.h"
#include "cmd/outputs.h"
#include "cmd/record_options.h"
#include "emit/summary.h"
#include "profile/losses.h"
#include "cmd/progress.h"
#include "session/session.h"
#include "symbol/kernel_symbols.h"
#include "perfmap/mapper.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/priority.h"
#include "util/quota.h"

/* Measured on processors of 2020 and later, at stacks of 50 to 900 frames. */
#define SECONDS_PER_FRAME 55e-9
#define SECONDS_PER_STATE 27e-9
/* It is worth a word from here on. */
#define COSTLY_PERCENT 25

/* How often there is a new line of progress. */
#define PROGRESS_NS (NS_PER_SEC / 4)

/* Without a pause, once the recording is over: enough for the files of an ordinary one. */
#define REALTIME_USEC 200000

struct record_command {
	struct record_options options;
	struct outputs *outputs;
	struct utsname host;
	char *command_line;
	struct emit_options emit;
	struct session_config config;
	struct session *session;
	struct dict_holder holder; /* for outputs that have written ids already */
	struct kernel_symbols *kernel_symbols;
	struct mapper *mapper; /* NULL: no perf maps are wanted */
	unsigned maps; /* that were written */
	bool progress; /* a live line on stderr */
	__u64 progress_ns, progress_samples; /* of its last one */
	struct priority priority; /* before it was raised */
};

/* argv as one line, for headers. */
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

/* What cannot be written is said; the capture has the names, too. */
static FILE *open_map(void *ctx, int pid)
{
	struct record_command *r = ctx;
	char path[64];
	int fd = mapper__open(r->mapper, pid, PERF_MAP_FIRST_LINE, path, sizeof(path));
	FILE *file = fd < 0 ? NULL : fdopen(fd, "we");

	if (fd >= 0 && !file)
		close(fd);
	if (file)
		r->maps++;
	else if (fd == -EEXIST)
		log_warn(NULL, "%s of process %d is there and not krait's: it stays as it is", path,
			 pid);
	else if (fd == -EPERM)
		log_warn(NULL, "%s of process %d is not written: its /tmp is not the usual one",
			 path, pid);
	else
		log_warn(NULL, "%s of process %d: %s", path, pid, strerror(fd < 0 ? -fd : ENOMEM));
	return file;
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
		.open_map_ctx = r,
		.find_kernel = find_kernel,
		.find_kernel_ctx = r,
	};
	r->outputs = outputs__new(true);
	if (!r->outputs)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	for (size_t i = 0; i < o->output_cnt; i++) {
		if (outputs__add(r->outputs, o->outputs[i], o->format, o->default_output, &r->emit,
				 err))
			return -1;
	}
	if (o->perf_map && !outputs__has(r->outputs, "perf"))
		return error_set(err, EINVAL, EXIT_CODE_USAGE,
				 "--perf-map has names for the addresses of a perf.data, which is "
				 "none of the outputs");
	return 0;
}

static void on_sample(void *ctx, const struct profile *profile, const struct profile_sample *sample)
{
	struct record_command *r = ctx;

	if (!outputs__sample(r->outputs, profile, sample))
		session__end(r->session);
}

static int start(struct record_command *r, struct error *err)
{
	const struct record_options *o = &r->options;

	r->progress = !o->quiet && progress_suits(STDERR_FILENO, o->command);
	r->config = (struct session_config){
		.all = o->all,
		.filter = o->filter,
		.pids = o->pids,
		.pid_cnt = o->pid_cnt,
		.command = o->command,
		.sampler = {
			.events = o->events,
			.event_cnt = o->event_cnt,
			.ring_bytes = o->ring_bytes,
			.audit_every = o->audit_every,
		},
		.collector = {
			.events = o->events,
			.event_cnt = o->event_cnt,
			.label = o->label,
			.on_sample = on_sample,
			.on_sample_ctx = r,
			.mixed = {
				.native = o->native,
				.kernel = o->kernel,
				.interpreter = o->interpreter_frames,
				.addresses = outputs__use_addresses(r->outputs),
				.kernel_symbols = r->kernel_symbols,
			},
		},
		.duration_ns = o->duration_ns,
		.anchors = o->anchors,
		.say_starting = r->progress,
		.priority = &r->priority,
	};
	if (o->perf_map && !(r->mapper = mapper__new(err)))
		return -1;
	r->session = session__new(&r->config, err);
	if (!r->session)
		return -1;
	if (outputs__stream(r->outputs))
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

/* What is due by the clock, whether samples come or not. */
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
	r->emit.recording.began_ns = r->progress_ns = session__began_ns(r->session);
	r->emit.recording.began_wall_ns =
		(__s64)r->emit.recording.began_ns + clock_wall_offset_ns();
	while (session__step(r->session, PROGRESS_NS))
		tick(r);
	if (r->progress)
		progress_clear(stderr);
	session__close(r->session);
	return 0;
}

/* "5602 samples", "5602 cpu-clock + 87 page-faults samples". */
static void print_result(const struct record_command *r, const struct session_stats *stats)
{
	const struct profile *p = session__profile(r->session);
	const struct record_options *o = &r->options;
	char counts[KRAIT_MAX_EVENTS * 64] = "", rate[64] = "", period[64] = "";
	size_t len = 0;

	for (unsigned i = 0; i < o->event_cnt && len < sizeof(counts); i++) {
		const struct counts *e = profile__counts(p, i);

		len += (size_t)snprintf(counts + len, sizeof(counts) - len, "%s%llu%s%.40s",
					i ? " + " : "", e->samples, o->event_cnt > 1 ? " " : "",
					o->event_cnt > 1 ? e->event.name : "");
	}
	if (o->frequency)
		snprintf(rate, sizeof(rate), " at %llu Hz", o->frequency);
	if (o->period)
		snprintf(period, sizeof(period), ", one every %llu", o->period);
	log_info(NULL, "%.1f s, %s samples of %u process%s%s%s", stats->seconds, counts,
		 stats->processes, stats->processes == 1 ? "" : "es", rate, period);
}

static int print_tables(struct record_command *r, FILE *out, const struct summary_options *summary)
{
	struct profile *p = session__profile(r->session);
	int err = 0;

	for (unsigned i = 0; i < r->options.event_cnt && !err; i++) {
		if (r->options.event_cnt > 1)
			fprintf(out, "%s# event %s\n", i ? "\n" : "", r->options.events[i].name);
		err = summary_table(out, profile__counts(p, i), summary);
	}
	return err;
}

static void print_summary(struct record_command *r, const struct session_stats *stats)
{
	/* The standard output of a command is the command's. */
	FILE *out = outputs__use_stdout(r->outputs) || r->options.command ? stderr : stdout;
	struct summary_options summary;

	summary_options_init(&summary, out);
	summary.lines = r->options.lines;
	if (print_tables(r, out, &summary))
		log_debug("record", "the summary could not be printed");
	fflush(out);
	print_result(r, stats);
	if (r->options.event_cnt > 1 && outputs__single(r->outputs))
		log_info(NULL, "outputs of one event have %s", r->options.events[0].name);
	session__print_refused(r->session, stderr);
}

static void print_anchor_stats(const struct session_stats *stats)
{
	const struct stacks_stats *s = &stats->stacks;
	const struct anchoring_stats *a = &stats->anchoring;

	fprintf(stderr, "full %llu\ndelta %llu\nframes_new %llu\nframes_reused %llu\n", s->full,
		s->delta, s->frames_new, s->frames_reused);
	fprintf(stderr, "confirmed %llu\nunconfirmed %llu\nforeign %llu\n", s->confirmed,
		a->slid + a->foreign, a->foreign);
	fprintf(stderr, "writes %llu\nwrites_refused %llu\naudited %llu\nmismatched %llu\n",
		a->writes, a->refused, s->audited, s->mismatched);
}

static void print_native_stats(const struct mixed_stats *m)
{
	fprintf(stderr, "native.samples %llu\nnative.complete %llu\n", m->samples, m->complete);
	for (int i = NATIVE_COMPLETE + 1; i < NATIVE_REASON_CNT; i++)
		fprintf(stderr, "native.truncated.%s %llu\n",
			native_reason_name((enum native_reason)i), m->truncated[i]);
	fprintf(stderr, "native.unknown %llu\nnative.frames %llu\n", m->unknown, m->frames);
	fprintf(stderr, "kernel.samples %llu\nkernel.frames %llu\n", m->kernel_samples,
		m->kernel_frames);
}

/* Names of several events go in front: their accounts are not added up. */
static void print_accounts(const struct counts *e, bool several)
{
	const struct accounts *a = &e->accounts;
	const char *name = several ? e->event.name : "", *dot = several ? "." : "";

	fprintf(stderr, "%s%sinterrupts %llu\n", name, dot, a->interrupts);
	for_each_reason(r)
		fprintf(stderr, "%s%s%s.%s %llu\n", name, dot, outcome_name(reason_outcome(r)),
			reason_name(r), a->reasons[r]);
	fprintf(stderr,
		"%s%sbalance %lld\n%s%sunwanted %llu\n%s%sunknown_frames %llu\n"
		"%s%sunknown_samples %llu\n",
		name, dot, accounts_balance(a), name, dot, a->unwanted, name, dot,
		a->unknown_frames, name, dot, a->unknown_samples);
}

static void print_ticks(const struct counts *e, bool several)
{
	const struct accounts *a = &e->accounts;
	const char *name = several ? e->event.name : "", *dot = several ? "." : "";

	fprintf(stderr, "%s%sticks_asked %llu\n%s%sticks_delivered %llu\n%s%sticks_missed %llu\n",
		name, dot, a->ticks_asked, name, dot, a->ticks_delivered, name, dot,
		a->ticks_missed);
}

/* How full the profile is. */
static void print_room(const struct dict *dict)
{
	for (int i = 0; i < PROFILE_RESOURCE_CNT; i++)
		fprintf(stderr, "room.%s %llu of %llu\n", profile_resource_name(i),
			quota__held_by_all(dict__quota(dict, i)),
			quota__total(dict__quota(dict, i)));
}

static void print_stats(struct record_command *r, const struct session_stats *stats)
{
	const struct profile *p = session__profile(r->session);

	for (unsigned i = 0; i < r->options.event_cnt; i++)
		print_accounts(profile__counts(p, i), r->options.event_cnt > 1);
	for (unsigned i = 0; i < r->options.event_cnt; i++)
		print_ticks(profile__counts(p, i), r->options.event_cnt > 1);
	fprintf(stderr, "events_dropped %llu\n", profile__counts(p, 0)->accounts.events_dropped);
	losses_print(session__losses(r->session), stderr);
	print_room(p->dict);
	print_anchor_stats(stats);
	if (r->options.native || r->options.kernel)
		print_native_stats(&stats->mixed);
	fprintf(stderr, "seconds %.6f\nfirst_sample_seconds %.6f\nprocesses %u\n", stats->seconds,
		stats->first_sample_seconds, stats->processes);
}

/*
 * Ticks that never came are no losses of krait's, and what did come is no worse for it: a warning, but
 * no reason to fail.
 */
static void judge_ticks(const struct record_command *r, const struct counts *e)
{
	double missed = 100 * accounts_missed_share(&e->accounts);

	if (missed > r->options.max_loss_percent)
		log_warn(
			NULL,
			"%.1f %% of the timer's ticks never came while these programs ran: %llu beside "
			"%llu interrupts (a lower --freq misses fewer)",
			missed, e->accounts.ticks_missed, e->accounts.interrupts);
}

/* What the user should hear of the losses of one event; their share in percent. */
static double judge_event(const struct record_command *r, const struct counts *e)
{
	double lost = 100 * accounts_lost_share(&e->accounts);

	if (accounts_balance(&e->accounts))
		log_warn(NULL,
			 "the accounts of %s do not balance by %lld interrupts: please report this",
			 e->event.name, accounts_balance(&e->accounts));
	judge_ticks(r, e);
	if (lost > r->options.max_loss_percent)
		log_warn(NULL, "%.2f %% of the interrupts were lost; the profile%s%s may be biased",
			 lost, r->options.event_cnt > 1 ? " of " : "",
			 r->options.event_cnt > 1 ? e->event.name : "");
	return lost;
}

/*
 * What the walks take of the programs' time at this rate, at the most, says the user: their frames, and
 * the thread states that were searched, are most of what a sample costs, and krait does not lower the
 * rate by itself.
 */
static void warn_of_cost(const struct record_options *o, const struct session_stats *stats)
{
	__u64 records = stats->stacks.full + stats->stacks.delta;
	double frames, states, percent;

	if (!records || o->event_cnt > 1 || !o->frequency || !event_is_clock(&o->events[0]))
		return;
	frames = (double)stats->stacks.frames_new / (double)records;
	states = (double)stats->thread_steps / (double)records;
	percent = 100 * (frames * SECONDS_PER_FRAME + states * SECONDS_PER_STATE) *
		  (double)o->frequency;
	if (percent >= COSTLY_PERCENT)
		log_warn(NULL,
			 "%.0f frames to walk and %.0f threads to search at %llu Hz cost the "
			 "programs up to %.0f %% of their time: a lower --freq costs less",
			 frames, states, o->frequency, percent);
}

static const char *no_samples_of(const struct record_options *o)
{
	if (o->event_cnt == 1 && event_is_clock(&o->events[0]))
		return "the processes used no CPU time";
	return "the processes had none of these events";
}

/* The exit code when nothing else decides it. */
static int judge(struct record_command *r, const struct session_stats *stats)
{
	const struct profile *p = session__profile(r->session);
	__u64 interrupts = 0;
	double worst = 0;

	for (unsigned i = 0; i < r->options.event_cnt; i++) {
		const struct counts *e = profile__counts(p, i);
		double lost = judge_event(r, e);

		worst = lost > worst ? lost : worst;
		interrupts += e->accounts.interrupts;
	}
	session__warn_of_shortages(r->session);
	warn_of_cost(&r->options, stats);
	if (stats->child_ended)
		return stats->child_exit_code;
	if (!stats->samples) {
		log_error(NULL, "no samples: %s",
			  interrupts	   ? "every interrupt was lost (--stats says why)" :
			  stats->processes ? no_samples_of(&r->options) :
					     "no Python process ran meanwhile (see -v)");
		return EXIT_CODE_EMPTY;
	}
	return worst > r->options.max_loss_percent ? EXIT_CODE_LOSSY : EXIT_CODE_OK;
}

/* The command's own failure goes before krait's losses; a file that is not there before both. */
static int report(struct record_command *r)
{
	struct session_stats stats;
	struct error err;
	int code;

	session__stats(r->session, &stats);
	r->emit.recording.seconds = stats.seconds;
	if (!r->options.quiet)
		print_summary(r, &stats);
	if (r->options.stats)
		print_stats(r, &stats);
	code = judge(r, &stats);
	if (outputs__finish(r->outputs, session__profile(r->session), 0, r->options.quiet, &err)) {
		log_error(NULL, "%s", err.text);
		code = err.code;
	}
	if (r->maps)
		log_info(NULL, "wrote perf maps of %u process%s: /tmp/perf-PID.map", r->maps,
			 r->maps == 1 ? "" : "es");
	return code;
}

static int record(struct record_command *r)
{
	struct error err = { .code = EXIT_CODE_KERNEL };
	int result;

	r->kernel_symbols = kernel_symbols__new(KALLSYMS);
	result = r->kernel_symbols ? open_outputs(r, &err) :
				     error_set(&err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	if (!result)
		result = start(r, &err);
	if (!result)
		result = run(r, &err);
	if (!result) {
		/* Its threads have ended, and files may take long. */
		if (r->priority.raised)
			priority_bound(REALTIME_USEC);
		return report(r);
	}
	log_error(NULL, "%s", err.text);
	return err.code;
}

int cmd_record(int argc, char **argv)
{
	struct record_command *r = calloc(1, sizeof(*r));
	int code;

	if (!r)
		return EXIT_CODE_KERNEL;
	record_options_parse(&r->options, argc, argv);
	/* Before anything else: where there is a queue for the CPUs, each step would wait in it. */
	if (r->options.realtime)
		priority_raise(&r->priority);
	log_set_level(r->options.quiet	 ? LOG_LEVEL_ERROR :
		      r->options.verbose ? LOG_LEVEL_DEBUG :
					   LOG_LEVEL_INFO);
	r->command_line = join(argc, argv);
	uname(&r->host);
	code = record(r);
	if (r->session)
		dict__release(session__profile(r->session)->dict, &r->holder);
	session__free(r->session);
	outputs__free(r->outputs);
	mapper__free(r->mapper);
	kernel_symbols__free(r->kernel_symbols);
	free(r->command_line);
	free(r);
	return code;
}
