/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.c - krait record: options to a session, its profile to the outputs, its end to an exit code.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/outputs.h"
#include "cmd/record_options.h"
#include "emit/summary.h"
#include "profile/losses.h"
#include "session/session.h"
#include "util/cleanup.h"
#include "util/log.h"

struct recording {
	struct record_options options;
	struct outputs *outputs;
	struct utsname host;
	char *command_line;
	struct emit_options emit;
	struct session_config config;
	struct session *session;
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

static int open_outputs(struct recording *r, struct error *err)
{
	const struct record_options *o = &r->options;

	r->emit = (struct emit_options){
		.lines = o->lines,
		.threads = o->threads,
		.no_process = o->no_process,
		.command_line = r->command_line,
		.title = "krait",
		.host = r->host.nodename,
		.kernel = r->host.release,
		.frequency = o->frequency,
	};
	r->outputs = outputs__new();
	if (!r->outputs)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	for (size_t i = 0; i < o->output_cnt; i++) {
		if (outputs__add(r->outputs, o->outputs[i], o->format, &r->emit, err))
			return -1;
	}
	return 0;
}

static void on_sample(void *ctx, const struct profile *profile, const struct profile_sample *sample)
{
	outputs__sample(ctx, profile, sample);
}

static int start(struct recording *r, struct error *err)
{
	const struct record_options *o = &r->options;

	r->config = (struct session_config){
		.all = o->all,
		.filter = o->filter,
		.pids = o->pids,
		.pid_cnt = o->pid_cnt,
		.command = o->command,
		.sampler = {
			.event_type = PERF_TYPE_SOFTWARE,
			.event_config = PERF_COUNT_SW_CPU_CLOCK,
			.event_name = "cpu-clock",
			.frequency = o->frequency,
			.ring_bytes = o->ring_bytes,
			.audit_every = o->audit_every,
		},
		.collector = {
			.event_name = "cpu-clock",
			.label = o->label,
			.on_sample = on_sample,
			.on_sample_ctx = r->outputs,
			.mixed = {
				.native = o->native,
				.kernel = o->kernel,
				.interpreter = o->interpreter_frames,
				.addresses = outputs__use_addresses(r->outputs),
			},
		},
		.duration_ns = o->duration_ns,
		.anchors = o->anchors,
		.progress = !o->quiet && isatty(STDERR_FILENO),
	};
	r->session = session__new(&r->config, err);
	return r->session ? 0 : -1;
}

static void print_summary(struct recording *r, const struct session_stats *stats)
{
	FILE *out = outputs__use_stdout(r->outputs) ? stderr : stdout;
	struct summary_options summary;

	summary_options_init(&summary, out);
	summary.lines = r->options.lines;
	summary_table(out, session__profile(r->session), &summary);
	fflush(out);
	log_info(NULL, "%.1f s, %llu samples of %u process%s at %llu Hz", stats->seconds,
		 stats->samples, stats->processes, stats->processes == 1 ? "" : "es",
		 r->options.frequency);
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

static void print_stats(struct recording *r, const struct session_stats *stats)
{
	const struct accounts *a = profile__accounts_of(session__profile(r->session));

	fprintf(stderr, "interrupts %llu\n", a->interrupts);
	for (int i = 0; i < REASON_CNT; i++)
		fprintf(stderr, "%s.%s %llu\n", outcome_name(reason_outcome(i)), reason_name(i),
			a->reasons[i]);
	fprintf(stderr,
		"balance %lld\nunwanted %llu\nunknown_frames %llu\nunknown_samples %llu\n"
		"events_dropped %llu\n",
		accounts_balance(a), a->unwanted, a->unknown_frames, a->unknown_samples,
		a->events_dropped);
	losses_print(session__losses(r->session), stderr);
	print_anchor_stats(stats);
	if (r->options.native || r->options.kernel)
		print_native_stats(&stats->mixed);
	fprintf(stderr, "seconds %.6f\nfirst_sample_seconds %.6f\nprocesses %u\n", stats->seconds,
		stats->first_sample_seconds, stats->processes);
}

/* What the user should hear of losses, and the exit code when nothing else decides it. */
static int judge(struct recording *r, const struct session_stats *stats)
{
	const struct accounts *a = profile__accounts_of(session__profile(r->session));
	double lost = 100 * accounts_lost_share(a);

	if (accounts_balance(a))
		log_warn(NULL, "the accounts do not balance by %lld interrupts: please report this",
			 accounts_balance(a));
	if (lost > r->options.max_loss_percent)
		log_warn(NULL, "%.2f %% of the interrupts were lost; the profile may be biased",
			 lost);
	if (stats->child_ended)
		return stats->child_exit_code;
	if (!stats->samples) {
		log_error(NULL, "no samples: %s",
			  a->interrupts	   ? "every interrupt was lost (--stats says why)" :
			  stats->processes ? "the processes used no CPU time" :
					     "no Python process ran meanwhile (see -v)");
		return EXIT_CODE_EMPTY;
	}
	return lost > r->options.max_loss_percent ? EXIT_CODE_LOSSY : EXIT_CODE_OK;
}

/* The command's own failure goes before krait's losses; a file that is not there before both. */
static int report(struct recording *r)
{
	struct session_stats stats;
	struct error err;
	int code;

	session__stats(r->session, &stats);
	r->emit.seconds = stats.seconds;
	if (!r->options.quiet)
		print_summary(r, &stats);
	if (r->options.stats)
		print_stats(r, &stats);
	code = judge(r, &stats);
	if (!outputs__finish(r->outputs, session__profile(r->session), r->options.quiet, &err))
		return code;
	log_error(NULL, "%s", err.text);
	return err.code;
}

static int record(struct recording *r)
{
	struct error err = { .code = EXIT_CODE_KERNEL };
	int result = open_outputs(r, &err);

	if (!result)
		result = start(r, &err);
	if (!result)
		result = session__run(r->session, &err);
	if (!result)
		return report(r);
	log_error(NULL, "%s", err.text);
	if (r->outputs)
		outputs__discard(r->outputs);
	return err.code;
}

int cmd_record(int argc, char **argv)
{
	struct recording *r = calloc(1, sizeof(*r));
	int code;

	if (!r)
		return EXIT_CODE_KERNEL;
	record_options_parse(&r->options, argc, argv);
	log_set_level(r->options.quiet	 ? LOG_LEVEL_ERROR :
		      r->options.verbose ? LOG_LEVEL_DEBUG :
					   LOG_LEVEL_INFO);
	r->command_line = join(argc, argv);
	uname(&r->host);
	code = record(r);
	session__free(r->session);
	outputs__free(r->outputs);
	free(r->command_line);
	free(r);
	return code;
}
