/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/agent.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/resources.h"
#include "agent/spending.h"
#include "base/system/clock.h"
#include "base/text/log.h"

/* How long a window stays open for samples of its time that are still on their way. */
#define GRACE_NS (NS_PER_SEC / 10)
/* Sinks are called at least this often. */
#define STEP_NS (NS_PER_SEC / 4)
/* How often to free the memory that was needed for processes that have gone. */
#define TRIM_NS (60 * NS_PER_SEC)
/* How long parsers must have been idle for their memory to be freed. */
#define IDLE_NS (30 * NS_PER_SEC)
/*
 * Rows of native code may take an eighth of the memory limit, or their usual maximum if there is
 * none.
 */
#define ROWS_SHARE 8
#define ROWS_BYTES_MIN (4ULL << 20)
#define ROWS_BYTES_MAX (64ULL << 20)
/* No name or path is longer, in bytes: what runs unattended must not fill disks for one. */
#define TEXT_MAX 512
/* The dictionary must forget when it has this many nodes, and later twice what it had last time. */
#define FORGET_NODES 4096

struct agent {
	struct agent_config *config;
	struct session *session;
	struct window windows[2]; /* by number: the next one due, and the one after it */
	__u64 number; /* of the first one, from 1 */
	__u64 due_ns; /* when the first one ends */
	__u64 interval_ns;
	/* since the start, as of the last window's end */
	struct accounts accounts[KRAIT_MAX_EVENTS];
	__u32 forget_at; /* nodes */
	struct spending spending;
	__u64 trim_ns; /* when memory is next freed */
	bool running;
};

static struct window *window_at(struct agent *a, __u64 number)
{
	return &a->windows[number & 1];
}

static void on_sample(void *ctx, const struct profile *profile, const struct profile_sample *sample)
{
	struct agent *a = ctx;

	if (!a->running)
		return;
	(void)sample_store_add(&window_at(a, a->number + (sample->time_ns >= a->due_ns))->samples,
			       sample);
	resources__meet(a->config->resources, sample->pid, sample->image);
	for (unsigned i = 0; i < a->config->sink_cnt; i++) {
		const struct agent_sink *sink = &a->config->sinks[i];

		if (sink->sample)
			sink->sample(sink->ctx, profile, sample);
	}
}

static bool on_signal(void *ctx, int signal, bool from_terminal)
{
	struct agent *a = ctx;

	if (signal == SIGHUP && a->config->reload)
		a->config->reload(a->config->reload_ctx);
	if (signal == SIGUSR2 && a->config->on_user_signal)
		a->config->on_user_signal(a->config->on_user_signal_ctx);
	return signal == SIGHUP || (signal == SIGUSR2 && a->config->on_user_signal);
}

/* ---- windows ---------------------------------------------------------------------------------- */

static void take_accounts(struct agent *a, struct window *w)
{
	const struct profile *p = session__profile(a->session);

	for (unsigned i = 0; i < p->event_cnt && i < KRAIT_MAX_EVENTS; i++) {
		struct accounts now;

		session__accounts(a->session, i, &now);
		w->accounts[i] = now;
		accounts_subtract(&w->accounts[i], &a->accounts[i]);
		a->accounts[i] = now;
	}
}

static void forget(struct agent *a)
{
	struct profile *p = session__profile(a->session);
	int err;

	/* Windows keep what they need; of the session's totals only accounts are used. */
	for (unsigned i = 0; i < p->event_cnt; i++)
		counts__clear(profile__counts(p, i));
	if (dict__node_cnt(p->dict) < a->forget_at)
		return;
	for (unsigned i = 0; i < a->config->sink_cnt; i++) {
		const struct agent_sink *sink = &a->config->sinks[i];

		if (sink->forget)
			sink->forget(sink->ctx);
	}
	err = dict__forget(p->dict);
	if (err)
		log_warn(NULL, "krait cannot shrink its dictionary of stacks: %s", strerror(-err));
	a->forget_at = 2 * dict__node_cnt(p->dict);
	if (a->forget_at < FORGET_NODES)
		a->forget_at = FORGET_NODES;
}

static void give_back_memory(struct agent *a)
{
	__u64 now_ns = clock_monotonic_ns(), limit = a->config->memory_bytes;
	bool is_big = limit && a->spending.usage.rss_bytes > limit;

	if (is_big)
		session__rest(a->session, 0);
	if (now_ns < a->trim_ns && !is_big)
		return;
	session__rest(a->session, IDLE_NS);
	a->trim_ns = now_ns + TRIM_NS;
	malloc_trim(0);
}

/* Ends the first window at that time; the second becomes the first. */
static void end_window(struct agent *a, __u64 to_ns)
{
	struct window *w = window_at(a, a->number);

	w->number = a->number;
	w->to_ns = to_ns;
	w->wall_offset_ns = clock_wall_offset_ns();
	take_accounts(a, w);
	spending_take_price(&a->spending, w);
	window__sort(w);
	for (unsigned i = 0; i < a->config->sink_cnt; i++) {
		const struct agent_sink *sink = &a->config->sinks[i];

		if (sink->window)
			sink->window(sink->ctx, w);
	}
	resources__end_window(a->config->resources);
	window__end(w);
	window__begin(w, session__profile(a->session), 0);
	window_at(a, ++a->number)->from_ns = to_ns;
	forget(a);
	give_back_memory(a);
}

static __u64 step_ns(const struct agent *a)
{
	__u64 now_ns = clock_monotonic_ns(), end_ns = a->due_ns + GRACE_NS;
	__u64 left = end_ns > now_ns ? end_ns - now_ns : 0;

	return left < STEP_NS ? left : STEP_NS;
}

static void step_sinks(struct agent *a, __u64 now_ns)
{
	for (unsigned i = 0; i < a->config->sink_cnt; i++) {
		const struct agent_sink *sink = &a->config->sinks[i];

		if (sink->step)
			sink->step(sink->ctx, now_ns);
	}
}

/* If the agent was stopped, the time in between is one window. */
static void set_due(struct agent *a, __u64 now_ns)
{
	__u64 from_ns = window_at(a, a->number)->from_ns;

	a->due_ns = from_ns + a->interval_ns;
	if (a->due_ns + GRACE_NS <= now_ns)
		a->due_ns = now_ns;
}

/* ---- begin and end ---------------------------------------------------------------------------- */

/* From which length on each wait has a stack of its own; 0: waits are not sampled. */
static __u64 wait_ns(const struct session_config *session)
{
	for (unsigned i = 0; i < session->sampler.event_cnt; i++)
		if (event_is_off_cpu(&session->sampler.events[i]))
			return session->sampler.events[i].period;
	return 0;
}

static struct budget_config budget_config(const struct agent *a)
{
	const struct session_config *session = &a->config->session;

	return (struct budget_config){
		.wanted = { .frequency = session->sampler.events[0].frequency,
			    .frames_max = KRAIT_MAX_FRAMES,
			    .natives = session->collector.natives.native,
			    .wait_ns = wait_ns(session) },
		.cpu = a->config->cpu_budget,
		.memory_bytes = a->config->memory_bytes,
		.interval_ns = a->config->interval_ns,
	};
}

/* Call before the session is made. */
static void bound_rows(struct agent_config *config)
{
	__u64 bytes = config->memory_bytes / ROWS_SHARE;

	if (!config->memory_bytes || bytes >= ROWS_BYTES_MAX)
		return;
	config->session.sampler.unwind_bytes = bytes > ROWS_BYTES_MIN ? bytes : ROWS_BYTES_MIN;
}

void agent_config_add(struct agent_config *config, struct agent_sink sink)
{
	if (config->sink_cnt < AGENT_SINKS_MAX)
		config->sinks[config->sink_cnt++] = sink;
}

struct agent *agent__new(struct agent_config *config, struct error *err)
{
	struct agent *a = calloc(1, sizeof(*a));
	struct budget_config budget;

	if (!a) {
		error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
		return NULL;
	}
	a->config = config;
	a->interval_ns = config->interval_ns;
	a->forget_at = FORGET_NODES;
	bound_rows(config);
	config->session.sampler.measure = true;
	config->session.collector.on_sample = on_sample;
	config->session.collector.on_sample_ctx = a;
	config->session.on_signal = on_signal;
	config->session.on_signal_ctx = a;
	a->session = session__new(&config->session, err);
	if (!a->session) {
		agent__free(a);
		return NULL;
	}
	budget = budget_config(a);
	dict__cut_texts(session__profile(a->session)->dict, TEXT_MAX);
	spending_begin(&a->spending, a->session, &budget, &config->payers);
	resources__connect(config->resources, a->session);
	return a;
}

void agent__free(struct agent *a)
{
	if (!a)
		return;
	window__end(&a->windows[0]);
	window__end(&a->windows[1]);
	session__free(a->session);
	free(a);
}

struct session *agent__session(struct agent *a)
{
	return a->session;
}

void agent__burst(struct agent *a, __u64 frequency, __u64 ns)
{
	spending_burst(&a->spending, frequency, ns);
}

void agent__set_server(struct agent *a, pid_t pid)
{
	usage_tell_apart(&a->spending.usage, pid);
}

void agent__reconfigure(struct agent *a)
{
	const struct budget_config budget = budget_config(a);
	__u64 now_ns = clock_monotonic_ns();

	a->interval_ns = a->config->interval_ns;
	spending_renew(&a->spending, &budget, a->running);
	if (!a->running)
		return;
	/* One that is over waits for its last samples only; what came so far is in the window that runs. */
	if (a->due_ns <= now_ns)
		return;
	a->due_ns = window_at(a, a->number)->from_ns + a->interval_ns;
	if (a->due_ns < now_ns)
		a->due_ns = now_ns;
}

/*
 * When it is over budget the agent handles events in batches: on a host that starts many commands,
 * most of its cost is waking up for each. Meanwhile a thread of its own empties the ring.
 */
static void nap(const struct agent *a, __u64 since_ns)
{
	__u64 now_ns = clock_monotonic_ns(), nap_ns = spending_nap_ns(&a->spending);
	__u64 end_ns = since_ns + nap_ns;
	struct timespec rest = { 0 };

	if (end_ns > a->due_ns + GRACE_NS)
		end_ns = a->due_ns + GRACE_NS;
	if (!nap_ns || end_ns <= now_ns)
		return;
	rest.tv_nsec = (long)(end_ns - now_ns);
	nanosleep(&rest, NULL);
}

int agent__run(struct agent *a, struct error *err)
{
	struct profile *p = session__profile(a->session);
	__u64 now_ns, last_ns = 0;
	int result;

	step_sinks(a, clock_monotonic_ns());
	a->number = 1;
	window__begin(&a->windows[0], p, 0);
	window__begin(&a->windows[1], p, 0);
	a->due_ns = ~0ULL;
	a->running = true;
	result = session__open(a->session, err);
	if (result)
		return result;
	window_at(a, a->number)->from_ns = session__began_ns(a->session);
	set_due(a, clock_monotonic_ns());
	while (session__step(a->session, step_ns(a))) {
		now_ns = clock_monotonic_ns();
		if (now_ns >= a->due_ns + GRACE_NS) {
			end_window(a, a->due_ns);
			set_due(a, now_ns);
		}
		spending_check(&a->spending, now_ns);
		step_sinks(a, now_ns);
		nap(a, last_ns);
		last_ns = clock_monotonic_ns();
	}
	session__close(a->session);
	now_ns = clock_monotonic_ns();
	if (a->due_ns < now_ns)
		end_window(a, a->due_ns);
	a->due_ns = ~0ULL;
	end_window(a, now_ns);
	a->running = false;
	return 0;
}
