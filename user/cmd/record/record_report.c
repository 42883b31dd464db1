/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/record/record_report.h"

#include <errno.h>
#include <stdio.h>

#include "record/follow/refusals.h"
#include "cmd/common/outputs.h"
#include "cmd/record/record_options.h"
#include "cmd/record/record_targets.h"
#include "output/text/summary.h"
#include "output/text/thread_table.h"
#include "profile/losses.h"
#include "python/layout/py_offsets.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/worker/own.h"
#include "base/files/output_file.h"
#include "base/text/stream.h"
#include "base/text/units.h"
#include "base/share/quota.h"

/*
 * If following switches was too expensive for more than this share of the recording, we tell the
 * user.
 */
#define SWITCHES_OVER_SHARE 0.1

/*
 * Lines around a table: its head, its totals, the meanings of marks, what was written, and the next
 * prompt.
 */
#define LINES_BESIDE 12
/* Whose code it is: rows, and with the lines around them. */
#define ORIGIN_ROWS 4
#define LINES_OF_ORIGINS (ORIGIN_ROWS + 4)
/* Lines of the table of programs above it, for a whole machine. */
#define LINES_OF_PROGRAMS 7

/*
 * Prints "5602 samples" or "5602 cpu-clock + 87 page-faults samples". A table of one event has said
 * that already.
 */
static void print_result(const struct record_report *r)
{
	const struct session_stats *stats = &r->stats;
	const struct profile *p = session__profile(r->session);
	const struct record_options *o = r->options;
	char counts[KRAIT_MAX_EVENTS * 64] = "", rate[64] = "", period[64] = "";
	size_t len = 0;

	for (unsigned i = 0; i < o->event_cnt && len < sizeof(counts); i++) {
		const struct counts *e = profile__counts(p, i);

		len += (size_t)snprintf(counts + len, sizeof(counts) - len, "%s%llu%s%.40s",
					i ? " + " : "", e->samples, o->event_cnt > 1 ? " " : "",
					o->event_cnt > 1 ? e->event.name : "");
	}
	if (o->frequency && !o->memory)
		snprintf(rate, sizeof(rate), o->jitter ? " at %llu Hz on average" : " at %llu Hz",
			 o->frequency);
	if (o->period == 1)
		snprintf(period, sizeof(period), ", one for each event");
	else if (o->period)
		snprintf(period, sizeof(period), ", one every %llu events", o->period);
	if (r->tabled && o->event_cnt == 1 && !o->stats)
		return;
	log_info(NULL, "%.1f s, %s samples of %u process%s%s%s", stats->seconds, counts,
		 stats->processes, stats->processes == 1 ? "" : "es", rate, period);
}

/* For a whole machine the first question is which program. */
static int print_table(FILE *out, const struct counts *c, const struct summary_options *o)
{
	int err = program_table(out, c, o);

	return err ? err : summary_table(out, c, o);
}

/* A table of fewer samples of such a program is chance. */
#define IDLE_SAMPLES 100

/* Did the named processes hardly compute, while nothing of their waits was recorded? */
static bool is_idle(const struct record_options *o, const struct counts *c)
{
	return o->event_cnt == 1 && !o->all && !o->states && !o->holds_gil && c->samples &&
	       report_is_idle(c);
}

/* Says how to see what they wait for. */
static void say_idle(FILE *out, const struct record_options *o, const struct counts *c)
{
	const bool one = o->pid_cnt <= 1;
	char used[24], window[24];

	report_time(used, (double)c->weight);
	report_time(window, (double)(c->to_ns - c->from_ns));
	fprintf(out, "%s computed for %s of %s. To see what %s for: krait record --wall ",
		one ? "It" : "They", used, window, one ? "it waits" : "they wait");
	if (!o->pid_cnt) {
		fprintf(out, "-- COMMAND\n");
		return;
	}
	fputs("-p ", out);
	for (size_t i = 0; i < o->pid_cnt; i++)
		fprintf(out, "%s%d", i ? "," : "", (int)o->pids[i]);
	fputs(", or krait dump", out);
	for (size_t i = 0; i < o->pid_cnt; i++)
		fprintf(out, " %d", (int)o->pids[i]);
	putc('\n', out);
}

static int print_tables(struct record_report *r, FILE *out, const struct summary_options *summary)
{
	struct profile *p = session__profile(r->session);
	cleanup_profile struct profile *wall = NULL;
	int err = 0;

	r->tabled = true;
	if (r->options->wall && !profile__new_wall(&wall, p)) {
		fprintf(out, "# event %s\n", EVENT_WALL);
		return print_table(out, profile__counts(wall, 0), summary);
	}
	if (is_idle(r->options, profile__counts(p, 0))) {
		const struct counts *c = profile__counts(p, 0);

		r->tabled = c->samples >= IDLE_SAMPLES;
		err = r->tabled ? print_table(out, c, summary) : 0;
		if (!err)
			say_idle(out, r->options, c);
		return err;
	}
	for (unsigned i = 0, shown = 0; i < r->options->event_cnt && !err; i++) {
		const struct counts *c = profile__counts(p, i);

		/* Nothing was looked at: that is no memory of 0 bytes (say_memory()). */
		if (event_is_resident(&c->event) && !c->samples)
			continue;
		if (r->options->event_cnt > 1)
			fprintf(out, "%s# event %s\n", shown++ ? "\n" : "", c->event.name);
		err = print_table(out, c, summary);
	}
	return err;
}

/* A closed or unread standard output means that the summary is unwanted. */
static int judge_summary(FILE *out, int err)
{
	if (!err)
		return EXIT_CODE_OK;
	if (err == -EBADF || err == -EPIPE) {
		clearerr(out);
		return EXIT_CODE_OK;
	}
	log_error(NULL, "the summary could not be printed: %s", output_file_strerror(err));
	return EXIT_CODE_OUTPUT;
}

static int print_summary(struct record_report *r)
{
	int err;

	/* Standard output belongs to the launched command. */
	FILE *out = outputs__use_stdout(r->outputs) || r->options->command ? stderr : stdout;
	struct summary_options summary;

	summary_options_init(&summary, out);
	summary_options_fit(&summary, out, r->options->wall ? 1 : r->options->event_cnt,
			    LINES_BESIDE + LINES_OF_ORIGINS +
				    (r->options->all ? LINES_OF_PROGRAMS : 0));
	summary.lines = r->options->lines;
	summary.origins = ORIGIN_ROWS;
	summary.stats = r->options->stats;
	err = print_tables(r, out, &summary);
	if (!err)
		err = stream_finish(out);
	print_result(r);
	if (r->options->event_cnt > 1 && outputs__single(r->outputs, &r->options->events[0]))
		log_info(NULL, "outputs that hold one event hold %s",
			 r->options->wall ? EVENT_WALL : r->options->events[0].name);
	refusals_print(session__refusals(r->session), stderr);
	return judge_summary(out, err);
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

static void print_native_stats(const struct session_stats *stats)
{
	const struct native_part_stats *m = &stats->natives;

	fprintf(stderr, "native.samples %llu\nnative.complete %llu\n", m->samples, m->complete);
	for (int i = NATIVE_COMPLETE + 1; i < NATIVE_REASON_CNT; i++)
		fprintf(stderr, "native.truncated.%s %llu\n",
			native_reason_name((enum native_reason)i), m->truncated[i]);
	fprintf(stderr, "native.unknown %llu\nnative.frames %llu\n", m->unknown, m->frames);
	fprintf(stderr, "mappings.reported %llu\nmappings.ahead %llu\n", stats->mappings_reported,
		stats->mappings_ahead);
	fprintf(stderr, "kernel.samples %llu\nkernel.frames %llu\n", m->kernel_samples,
		m->kernel_frames);
}

/* With several events each line starts with the event's name: their accounts are not added up. */
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

	fprintf(stderr, "%s%sticks_asked %llu\n%s%sticks_missed %llu\n", name, dot, a->ticks_asked,
		name, dot, a->ticks_missed);
	fprintf(stderr, "%s%snot_sampled %llu\n%s%sover_ns %llu\n", name, dot, a->not_sampled, name,
		dot, a->over_ns);
}

/* Prints how full the profile is. */
static void print_room(const struct dict *dict)
{
	for (int i = 0; i < PROFILE_RESOURCE_CNT; i++)
		fprintf(stderr, "room.%s %llu of %llu\n", profile_resource_name(i),
			quota__held_by_all(dict__quota(dict, i)),
			quota__total(dict__quota(dict, i)));
}

static void print_stats(const struct record_report *r)
{
	const struct session_stats *stats = &r->stats;
	const struct profile *p = session__profile(r->session);

	for (unsigned i = 0; i < r->options->event_cnt; i++)
		print_accounts(profile__counts(p, i), r->options->event_cnt > 1);
	for (unsigned i = 0; i < r->options->event_cnt; i++)
		print_ticks(profile__counts(p, i), r->options->event_cnt > 1);
	fprintf(stderr, "events_dropped %llu\n", profile__counts(p, 0)->accounts.events_dropped);
	losses_print(session__losses(r->session), stderr);
	print_room(p->dict);
	print_anchor_stats(stats);
	if (r->options->native || r->options->kernel)
		print_native_stats(stats);
	if (r->options->off_cpu)
		fprintf(stderr,
			"waits.refused %llu\nwaits.missed_ns %llu\nwaits.lost_ns %llu\nunsampled.lost_ns %llu\n"
			"switches.cost_ns %llu\nswitches.stacks_ns %llu\nswitches.over_ns %llu\n",
			stats->waits_refused, stats->waits_missed_ns, stats->waits_lost_ns,
			stats->unsampled_lost_ns, stats->switches_cost.switches_ns,
			stats->switches_cost.stacks_ns, stats->switches_cost.over_ns);
	if (r->options->async != ASYNC_OFF)
		fprintf(stderr, "tasks.chains %llu\ntasks.cut %llu\ntasks.late %llu\n",
			stats->task_chains, stats->task_chains_cut, stats->task_chains_late);
	if (r->options->greenlets)
		fprintf(stderr,
			"greenlets.chains %llu\ngreenlets.cut %llu\ngreenlets.late %llu\ngreenlets.unknown %llu\n",
			stats->greenlets.chains, stats->greenlets.cut, stats->greenlets.late,
			stats->greenlets.unknown);
	if (r->options->tasks_ns)
		fprintf(stderr,
			"census.taken %llu\ncensus.tasks %llu\ncensus.cut %llu\ncensus.failed %llu\n"
			"census.spent_ns %llu\n",
			stats->census.cnt, stats->census.tasks, stats->census.cut,
			stats->census.failed, stats->census.spent_ns);
	if (r->options->memory)
		fprintf(stderr,
			"memory.faults %llu\nmemory.shift %u\nmemory.rounds %llu\nmemory.failed %u\n"
			"memory.spent_ns %llu\nmemory.lonely_bytes %llu\n",
			stats->residence.faults, stats->residence.shift, stats->residence.rounds,
			stats->residence.failed, stats->residence.spent_ns,
			stats->residence.lonely_bytes);
	fprintf(stderr, "codes_replaced %llu\n", stats->codes_replaced);
	fprintf(stderr, "seconds %.6f\nfirst_sample_seconds %.6f\nprocesses %u\n", stats->seconds,
		stats->first_sample_seconds, stats->processes);
}

/*
 * Ticks that never came are not krait's loss and do not spoil the others: this is a warning, not a
 * failure.
 */
static void judge_ticks(const struct record_report *r, const struct counts *e)
{
	double missed = 100 * accounts_missed_share(&e->accounts);

	if (missed > r->options->max_loss_percent)
		log_warn(
			NULL,
			"%.1f%% of the timer's ticks never came while these programs ran: %llu beside "
			"%llu interrupts (a lower --freq misses fewer)",
			missed, e->accounts.ticks_missed, e->accounts.interrupts);
}

/* In percent of all samples' time; less may be other threads' wake-ups in the interrupts of these. */
#define OVER_PERCENT 10

static void judge_clocks(const struct counts *e)
{
	double over = e->weight ? 100 * (double)e->accounts.over_ns / (double)e->weight : 0;

	if (over > OVER_PERCENT)
		log_warn(
			NULL,
			"samples stand for %.1f%% more CPU time than the kernel says some threads had: "
			"they keep in step with the sampler's clock (use --jitter, or another --freq)",
			over);
}

/* Warns about losses of one event. Returns their share in percent. */
static double judge_event(const struct record_report *r, const struct counts *e)
{
	double lost = 100 * accounts_lost_share(&e->accounts);

	if (accounts_balance(&e->accounts))
		log_warn(NULL,
			 "the accounts of %s do not balance by %lld interrupts: please report this",
			 e->event.name, accounts_balance(&e->accounts));
	judge_ticks(r, e);
	judge_clocks(e);
	if (lost > r->options->max_loss_percent)
		log_warn(NULL, "%.2f%% of the interrupts were lost; the profile%s%s may be biased",
			 lost, r->options->event_cnt > 1 ? " of " : "",
			 r->options->event_cnt > 1 ? e->event.name : "");
	return lost;
}

/* A share of what was touched that is worth a word. */
#define LONELY_SHARE 0.05

/* Says of which moment the memory is, and what is not in it. */
static void say_memory(const struct record_report *r)
{
	const struct residence_stats *m = &r->stats.residence;
	const struct profile *p = session__profile(r->session);
	const double touched = (double)profile__counts(p, 1)->weight;
	const __u64 end_ns = session__began_ns(r->session) + (__u64)(r->stats.seconds * 1e9);
	char size[24];

	if (!r->options->memory)
		return;
	if (!profile__counts(p, 0)->samples)
		log_info(
			NULL,
			"there is no resident-memory: all processes had ended before krait looked at their pages, which it does each second");
	else if (m->time_ns && m->time_ns + NS_PER_SEC / 10 < end_ns)
		log_info(NULL, "resident-memory is that of %.1f s before the end: later %s",
			 (double)(end_ns - m->time_ns) / 1e9,
			 m->failed ? "no process could be read" : "there was no process");
	format_size(size, sizeof(size), m->lonely_bytes);
	if ((double)m->lonely_bytes > LONELY_SHARE * touched)
		log_info(
			NULL,
			"touched-memory leaves out up to %s of huge pages that were gone again within a second",
			size);
	if (m->failed)
		log_warn(NULL, "the pages of %u process%s could not be read, and are in no row",
			 m->failed, m->failed == 1 ? "" : "es");
	if (m->old)
		log_warn(
			NULL,
			"krait had no time for the pages of %u process%s in the last 2 s: rows are older, or missing",
			m->old, m->old == 1 ? "" : "es");
	if (m->dropped)
		log_warn(NULL,
			 "%llu page faults found no room: what they brought is in [no fault seen]",
			 m->dropped);
	if (m->cut)
		log_warn(
			NULL,
			"%u process%s had too much memory to look at in a second: the rest is in no row",
			m->cut, m->cut == 1 ? "" : "es");
}

/* Warns if following switches cost more than krait promises. */
static void warn_of_switches(const struct session_stats *stats)
{
	const struct switches_cost *cost = &stats->switches_cost;
	double seconds = (double)cost->over_ns / 1e9;

	if (seconds > SWITCHES_OVER_SHARE * stats->seconds)
		log_warn(NULL,
			 "for %.1f s threads switched so often on one CPU that noting each "
			 "switch took %.1f%% of it; otherwise --off-cpu keeps to 2%%",
			 seconds, 100 * (double)cost->over_switches_ns / (double)cost->over_ns);
}

/* What docs/ACCURACY.md ("Names") says may be wrong then. */
static void warn_of_replaced(const struct session_stats *stats)
{
	if (stats->codes_replaced)
		log_warn(
			NULL,
			"a program replaced functions by others in the same memory (%llu found): of "
			"Python before 3.12, callers may have an earlier one's name for up to 67 ms "
			"after the first, and lines beyond 4,096 bytes of a line table may be an "
			"earlier one's",
			stats->codes_replaced);
}

/* Warns a user who asked for tasks explicitly if there cannot be any. */
static void warn_of_taskless(const struct record_options *o, const struct session_stats *stats)
{
	char version[24];

	if (!o->wants_tasks || !stats->taskless)
		return;
	py_version_format(stats->taskless_version, version, sizeof(version));
	log_warn(NULL,
		 "asyncio tasks need CPython 3.14 or later: %u process%s with an "
		 "older one (%s) ha%s stacks of threads only",
		 stats->taskless, stats->taskless == 1 ? "" : "es", version,
		 stats->taskless == 1 ? "s" : "ve");
}

static void warn_of_others(const struct session_stats *stats)
{
	if (stats->not_own)
		log_warn(
			NULL,
			"%llu interrupts hit threads with other rights than yours (a set-uid program, a "
			"process that may not be traced): they are left out",
			stats->not_own);
}

int record_report_judge(const struct record_report *r)
{
	const struct session_stats *stats = &r->stats;
	const struct profile *p = session__profile(r->session);
	char none[RECORD_TARGETS_TEXT];
	__u64 interrupts = 0;
	double worst = 0;

	for (unsigned i = 0; i < r->options->event_cnt; i++) {
		const struct counts *e = profile__counts(p, i);
		double lost = judge_event(r, e);

		worst = lost > worst ? lost : worst;
		interrupts += e->accounts.interrupts;
	}
	session__warn_of_shortages(r->session);
	warn_of_switches(stats);
	say_memory(r);
	warn_of_replaced(stats);
	warn_of_taskless(r->options, stats);
	warn_of_others(stats);
	if (stats->child_ended)
		return stats->child_exit_code;
	if (!stats->samples && outputs__are_deserted(r->outputs))
		return EXIT_CODE_OK;
	if (!stats->samples) {
		record_targets_explain_session(none, r->options, r->session);
		log_error(NULL, "no samples: %s",
			  interrupts ? "every interrupt was lost (--stats says why)" : none);
		return EXIT_CODE_EMPTY;
	}
	return worst > r->options->max_loss_percent ? EXIT_CODE_LOSSY : EXIT_CODE_OK;
}

int record_report_print(struct record_report *r)
{
	int code = r->options->quiet || own_is() ? EXIT_CODE_OK : print_summary(r);

	if (r->options->stats)
		print_stats(r);
	return code;
}
