/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "record/follow/processes.h"
#include "record/follow/refusals.h"
#include "record/follow/targets.h"
#include "process/space/modules.h"
#include "profile/losses.h"
#include "replay.h"
#include "replay_anchors.h"
#include "replay_outside.h"
#include "kernel/sampler/record.h"
#include "record/samples/collector.h"
#include "record/run/parts.h"
#include "record/unwinding/unwinding.h"
#include "support_profile.h"
#include "bpf/wait/switch.h"
#include "native/names/kernel_symbols.h"
#include "native/names/native_files.h"
#include "process/probe/prober.h"
#include "base/system/clock.h"

struct replay {
	struct replay_log log;
	struct session session;
	struct session_config config;
	struct sampler_handler handler;
	char *folded;
};

static const char *wanted_name;

void replay_want_name(const char *pattern)
{
	wanted_name = pattern;
}

/* ---- its life ---------------------------------------------------------------------------------- */

/* Restores the options of the logged recording. */
static void configure(struct replay *r, bool all)
{
	static const struct event_spec event = { .name = "cpu-clock" };
	static struct event_spec events[KRAIT_MAX_EVENTS];
	const struct input_session *s = &r->log.session;
	struct session_config *c = &r->config;

	/* The log does not contain filters. */
	assert_false(s->filtered);
	assert_true(s->event_cnt <= KRAIT_MAX_EVENTS);
	for (unsigned i = 0; i < s->event_cnt; i++)
		events[i] = event;
	if (wanted_name)
		c->filter = (struct filter){ .names = { wanted_name }, .name_cnt = 1 };
	c->all = all || s->all;
	c->knows_starts = true;
	c->anchors = s->anchors;
	c->collector.events = events;
	c->collector.event_cnt = s->event_cnt;
	c->collector.label = s->label;
	c->collector.natives = (struct native_part_options){
		.native = s->native,
		.kernel = s->kernel,
		.interpreter = s->interpreter,
		.addresses = s->addresses,
		.kernel_symbols = kernel_symbols__new(""),
	};
}

/* Like build() of record/run/assembly.c, without rights, threads and a command. */
static void build(struct replay *r)
{
	struct session *s = &r->session;
	struct processes_config processes = {
		.all = r->config.all,
		.tables = r->log.session.tables,
		.greenlets = r->log.session.greenlets,
		.filter = &r->config.filter,
		.prober = prober__new(1),
	};

	s->config = &r->config;
	r->config.collector.async = r->log.session.async;
	s->prober = processes.prober;
	if (r->config.collector.natives.native) {
		s->modules = modules__new();
		s->native_files = native_files__new(s->modules);
	}
	processes.native_files = s->native_files;
	s->collector = collector__new(&r->config.collector, s->native_files);
	s->processes = processes__new(&processes);
	if (r->log.session.perf_heard)
		processes__hear_perf(s->processes);
	r->handler = session_handler(s);
	s->sampler = sampler__new(&r->config.sampler, &r->handler, NULL);
	if (s->native_files)
		s->unwinding = unwinding__new(s->sampler, s->native_files);
	if (r->config.anchors != ANCHOR_MODE_OFF)
		s->anchors = anchor_thread__new(r->config.anchors, s->sampler, NULL, NULL, NULL);
	session_connect(s);
}

struct replay *replay_new(const void *log, size_t size, bool all)
{
	struct replay *r = calloc(1, sizeof(*r));

	replay_outside_is(NULL); /* left over from a failed test */
	replay_log_load(&r->log, log, size);
	replay_outside_is(&r->log);
	configure(r, all);
	build(r);
	return r;
}

void replay_free(struct replay *r)
{
	struct session *s = &r->session;

	processes__free(s->processes);
	pid_starts_free(&s->ended);
	anchor_thread__free(s->anchors);
	unwinding__free(s->unwinding);
	prober__free(s->prober);
	assert_int_equal(sampler_tracked_cnt(s->sampler), 0);
	sampler__free(s->sampler);
	collector__free(s->collector);
	native_files__free(s->native_files);
	modules__free(s->modules);
	kernel_symbols__free(r->config.collector.natives.kernel_symbols);
	replay_outside_is(NULL);
	replay_log_drop(&r->log);
	free(r->folded);
	free(r);
}

void replay_spare(struct replay *r)
{
	processes__spare(r->session.processes, 1);
}

void replay_starve(struct replay *r)
{
	processes__starve(r->session.processes, true);
}

void replay_starve_natives(struct replay *r)
{
	native_files__starve(r->session.native_files, true);
}

__u64 replay_open_waits(struct replay *r, __u64 end_ns, const struct thread_look *const looks[3])
{
	replay_looks(looks);
	return session_take_open_waits(&r->session, 0, 1 << SWITCH_PERIOD_SHIFT, end_ns);
}

unsigned replay_ended_cnt(const struct replay *r)
{
	return r->session.ended.cnt;
}

__u64 replay_unseen(const struct replay *r)
{
	return processes__unseen(r->session.processes);
}

unsigned replay_opened_cnt(const struct replay *r)
{
	return processes__seen_cnt(r->session.processes);
}

const struct published *replay_published(struct replay *r, pid_t pid)
{
	const struct process *p = processes__find(r->session.processes, pid);

	return p ? &p->tables.found : NULL;
}

int replay_follow(struct replay *r, pid_t pid)
{
	const char *why;

	return processes__follow(r->session.processes, pid, &why);
}

int replay_targets(struct replay *r, const pid_t pids[], size_t cnt, struct error *err)
{
	int result = targets_follow(r->session.processes, pids, cnt, -1, err);

	if (!result)
		targets_follow_children(r->session.processes, pids, cnt);
	return result;
}

int replay_known_targets(struct replay *r, const pid_t pids[], size_t cnt, struct error *err)
{
	return targets_follow_known(r->session.processes, pids, cnt, -1, err);
}

/* ---- time goes by ------------------------------------------------------------------------------ */

static __u64 earlier(__u64 a, __u64 b)
{
	return !a || (b && b < a) ? b : a;
}

/* Does what an idle session does until then. */
static void idle_until(struct replay *r, __u64 end_ns)
{
	for (;;) {
		__u64 next_ns;

		/* A question asked there is also answered there: retry once more for the results. */
		processes__retry(r->session.processes, r->log.now_ns);
		next_ns = processes__retry(r->session.processes, r->log.now_ns);
		if (r->session.unwinding)
			next_ns = earlier(next_ns,
					  unwinding__step(r->session.unwinding, r->log.now_ns));
		if (r->session.anchors)
			next_ns = earlier(next_ns, replay_anchors_step(r->session.anchors));
		if (r->log.now_ns >= end_ns)
			return;
		if (next_ns && next_ns <= r->log.now_ns)
			next_ns = r->log.now_ns + NS_PER_MS;
		replay_advance(next_ns && next_ns < end_ns ? next_ns : end_ns);
	}
}

/* As perf_mappings.c gets it from mmap_events.h. */
static void mapped(struct replay *r, pid_t pid)
{
	struct process *p = pid ? processes__find(r->session.processes, pid) : NULL;

	processes__mapped(r->session.processes, pid);
	if (p && p->space && r->session.unwinding)
		unwinding__mapped(r->session.unwinding, p, r->log.now_ns);
}

/* Repeats a caller's request to the session. */
static void act(struct replay *r, size_t i)
{
	const struct input_entry *e = &r->log.entries[i];
	const struct input_question *q = e->key;
	const struct input_fact *fact = e->value;

	if (q->op == QUESTION_FOLLOW || q->op == QUESTION_MAPPED)
		idle_until(r, e->time_ns);
	if (q->op == QUESTION_FOLLOW) {
		replay_advance(e->time_ns);
		replay_follow(r, q->pid);
	} else if (q->op == QUESTION_MAPPED) {
		mapped(r, q->pid);
	} else if (q->op == QUESTION_SCAN && !q->pid) {
		replay_advance(e->time_ns);
		replay_scan_from(e + 1, r->log.entry_cnt - i - 1);
		processes__scan(r->session.processes, (int)fact->value);
	}
}

void replay_run(struct replay *r)
{
	for (size_t i = 0; i < r->log.entry_cnt; i++) {
		const struct input_entry *e = &r->log.entries[i];

		if (e->kind == INPUT_RECORD || e->kind == INPUT_END)
			idle_until(r, e->time_ns);
		if (e->kind == INPUT_FACT)
			act(r, i);
		if (e->kind != INPUT_RECORD)
			continue;
		record_dispatch(&r->handler, e->value, e->value_size);
		if (r->session.anchors)
			replay_anchors_record(r->session.anchors, e->value, e->value_size);
	}
	if (r->session.anchors)
		anchor_thread__finish(r->session.anchors);
	processes__close_books(r->session.processes);
}

/* ---- what came of it --------------------------------------------------------------------------- */

void replay_print_refused(const struct replay *r, FILE *out)
{
	refusals_print(processes__refusals(r->session.processes), out);
}

const struct native_part_stats *replay_natives(const struct replay *r)
{
	return native_part__stats(collector__parts(r->session.collector)->nodes.natives);
}

const struct anchoring_stats *replay_anchoring(const struct replay *r)
{
	return r->session.anchors ? anchor_thread__stats(r->session.anchors) : NULL;
}

struct profile *replay_profile(struct replay *r)
{
	return collector__parts(r->session.collector)->profile;
}

const char *replay_folded(struct replay *r)
{
	const struct emit_options options = { .threads = false };

	free(r->folded);
	r->folded = emit_text("folded", replay_profile(r), &options);
	return r->folded;
}

__u64 replay_reason(struct replay *r, unsigned reason)
{
	return profile__counts(replay_profile(r), 0)->accounts.reasons[reason];
}

__u64 replay_lost(struct replay *r, pid_t pid, unsigned reason)
{
	const struct losses *losses = &collector__parts(r->session.collector)->losses;
	__u64 sum = 0;

	for (__u32 i = 0; i < losses->cnt; i++)
		if (losses->list[i].pid == pid)
			sum += losses->list[i].reasons[reason];
	return sum;
}

unsigned replay_followed_cnt(const struct replay *r)
{
	return processes__followed_cnt(r->session.processes);
}

unsigned replay_tracked_cnt(const struct replay *r)
{
	return sampler_tracked_cnt(r->session.sampler);
}
