/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/metrics.h"

#include <string.h>

#include "agent/resources.h"
#include "record/follow/refusals.h"
#include "record/run/session.h"
#include "base/text/metrics_text.h"

static const char *event_name(const struct event_spec *event)
{
	return event_is_off_cpu(event) ? "off_cpu" : "cpu";
}

/* CPU time: the samples of clocks. Those of a process are adjacent. */
static void add_cpu(struct metrics *m, const struct window *w)
{
	const struct stored_sample *list = w->samples.list;
	__u64 ns = 0;

	for (__u32 i = 0; i < w->samples.cnt; i++) {
		const bool last = i + 1 == w->samples.cnt ||
				  !window__same_process(&list[i], &list[i + 1]);
		const char *service;
		uid_t uid;

		ns += window__is_clock(w, &list[i]) ? list[i].weight : 0;
		if (!last || !ns)
			continue;
		service = resources__service(m->resources, list[i].pid, list[i].image, &uid, NULL);
		cpu_totals_add(&m->cpu, service, uid, list[i].pid, ns);
		ns = 0;
	}
	cpu_totals_end_window(&m->cpu);
}

static void on_window(void *ctx, const struct window *w)
{
	struct metrics *m = ctx;

	m->event_cnt = w->profile->event_cnt < KRAIT_MAX_EVENTS ? w->profile->event_cnt :
								  KRAIT_MAX_EVENTS;
	for (unsigned i = 0; i < m->event_cnt; i++) {
		accounts_add(&m->accounts[i], &w->accounts[i]);
		m->events[i] = event_name(&profile__counts(w->profile, i)->event);
	}
	add_cpu(m, w);
	m->levels_changed += m->windows && m->price.level != w->price.level;
	m->windows++;
	m->samples += w->samples.cnt;
	m->dropped += w->samples.dropped;
	m->cpu_ns += w->price.cpu_ns;
	m->kernel_ns += w->price.kernel_ns;
	m->server_ns += w->price.server_ns;
	m->starved_ns += w->price.starved_ns;
	m->unseen += w->price.unseen;
	m->names_put_off += w->price.names_put_off;
	m->names_left_out += w->price.names_left_out;
	m->price = w->price;
	m->ended_unix_ns = w->to_ns + (__u64)w->wall_offset_ns;
}

struct agent_sink metrics_sink(struct metrics *m)
{
	return (struct agent_sink){ .name = "metrics", .window = on_window, .ctx = m };
}

/* ---- text ------------------------------------------------------------------------------------- */

static void put_accounts(const struct metrics *m, FILE *out)
{
	metrics_family(out, "krait_interrupts_total", "counter",
		       "Interrupts of tracked processes, by event.");
	for (unsigned i = 0; i < m->event_cnt; i++)
		metrics_value(out, "krait_interrupts_total", m->accounts[i].interrupts, "event",
			      m->events[i], NULL);
	metrics_family(out, "krait_samples_total", "counter",
		       "How interrupts ended, by event, outcome and reason.");
	for (unsigned i = 0; i < m->event_cnt; i++) {
		for_each_reason(r) {
			if (m->accounts[i].reasons[r])
				metrics_value(out, "krait_samples_total", m->accounts[i].reasons[r],
					      "event", m->events[i], "outcome",
					      outcome_name(reason_outcome(r)), "reason",
					      reason_name(r), NULL);
		}
	}
	metrics_family(out, "krait_ticks_missed_total", "counter",
		       "Ticks that were due in tracked processes and never came.");
	for (unsigned i = 0; i < m->event_cnt; i++)
		metrics_value(out, "krait_ticks_missed_total", m->accounts[i].ticks_missed, "event",
			      m->events[i], NULL);
	metrics_number(
		out, "krait_process_events_dropped_total", "counter",
		"Process events for which the ring had no room: krait saw these processes late.",
		m->accounts[0].events_dropped);
}

static void put_price(const struct metrics *m, FILE *out)
{
	metrics_family(out, "krait_own_cpu_seconds_total", "counter",
		       "CPU time of krait: its processes, its programs in the kernel, and its HTTP "
		       "server, which has limits of its own and is not in the budget.");
	metrics_seconds(out, "krait_own_cpu_seconds_total", m->cpu_ns, "part", "processes", NULL);
	metrics_seconds(out, "krait_own_cpu_seconds_total", m->kernel_ns, "part", "programs", NULL);
	metrics_seconds(out, "krait_own_cpu_seconds_total", m->server_ns, "part", "server", NULL);
	metrics_number(out, "krait_own_resident_bytes", "gauge",
		       "Memory of krait and its helpers at the end of the last window.",
		       m->price.rss_bytes);
	metrics_number(out, "krait_rate_hertz", "gauge",
		       "Samples of CPU time that krait takes a second on each busy CPU.",
		       m->price.frequency);
	metrics_number(out, "krait_frames_max", "gauge",
		       "Frames after which Python stacks are cut off.", m->price.frames_max);
	metrics_number(
		out, "krait_native_frames", "gauge",
		"1: native frames are recorded; 0: not configured, or given up to stay within the budget.",
		m->price.natives);
	metrics_family(
		out, "krait_wait_seconds", "gauge",
		"Waits of this length or more all have a stack, shorter ones by chance; 0: no waits.");
	metrics_seconds(out, "krait_wait_seconds", m->price.wait_ns, NULL);
	metrics_number(
		out, "krait_budget_level", "gauge",
		"Steps by which detail is reduced to stay within the budget; 0: as configured.",
		m->price.level);
	metrics_number(out, "krait_budget_stalled", "gauge",
		       "1: over the budget, but a lower rate saved nothing, so the rate stays.",
		       m->price.stalled);
	metrics_family(out, "krait_look_delay_seconds", "gauge",
		       "Delay before new processes are examined, to stay within the budget.");
	metrics_seconds(out, "krait_look_delay_seconds", m->price.look_delay_ns, NULL);
	metrics_family(
		out, "krait_budget_starved_seconds_total", "counter",
		"Time for which all work that can wait was put off, to stay within the budget.");
	metrics_seconds(out, "krait_budget_starved_seconds_total", m->starved_ns, NULL);
	metrics_number(out, "krait_unseen_processes_total", "counter",
		       "Processes, Python or not, that ended before they were examined.",
		       m->unseen);
	metrics_number(
		out, "krait_names_put_off_total", "counter",
		"Native frames shown with their file's name only, because its symbols could not be read "
		"in time.",
		m->names_put_off);
	metrics_number(
		out, "krait_names_left_out_total", "counter",
		"Python frames shown as [name left out], because new names of their user cost too much "
		"or exceeded its share of what is kept and sent.",
		m->names_left_out);
	metrics_number(out, "krait_budget_changes_total", "counter",
		       "How often krait_budget_level has changed.", m->levels_changed);
}

struct tally {
	__u32 versions[32];
	__u64 cnt[32];
	unsigned used;
};

static void count_version(void *ctx, __u32 version)
{
	struct tally *t = ctx;
	unsigned i = 0;

	version >>= 16;
	while (i < t->used && t->versions[i] != version)
		i++;
	if (i == sizeof(t->cnt) / sizeof(t->cnt[0]))
		return;
	t->used += i == t->used;
	t->versions[i] = version;
	t->cnt[i]++;
}

static void put_processes(const struct metrics *m, FILE *out)
{
	struct session_progress progress;
	struct resources_stats stats;
	struct tally tally = { 0 };

	metrics_family(out, "krait_processes", "gauge",
		       "Python processes with samples in the last windows, by version.");
	resources__each_version(m->resources, count_version, &tally);
	for (unsigned i = 0; i < tally.used; i++) {
		char version[16];

		snprintf(version, sizeof(version), "%u.%u", tally.versions[i] >> 8,
			 tally.versions[i] & 0xff);
		metrics_value(out, "krait_processes", tally.cnt[i], "version", version, NULL);
	}
	resources__stats(m->resources, &stats);
	metrics_number(out, "krait_processes_without_resource_total", "counter",
		       "Samples of processes for whose description there was no room.",
		       stats.refused);
	metrics_number(out, "krait_claims_refused_total", "counter",
		       "Resource attributes that processes claimed without being allowed to.",
		       stats.claims_refused);
	if (!m->session)
		return;
	session__progress(m->session, &progress);
	metrics_number(out, "krait_tracked_processes", "gauge",
		       "Python processes that are sampled now.", progress.processes);
	metrics_number(out, "krait_late_processes_total", "counter",
		       "Python processes found by a scan, not reported at start.", progress.late);
	metrics_family(
		out, "krait_late_cpu_seconds_total", "counter",
		"CPU time without samples, which processes had used before a scan found them.");
	metrics_seconds(out, "krait_late_cpu_seconds_total", progress.late_ns, NULL);
	metrics_number(out, "krait_refused_processes_total", "counter",
		       "Python processes that are not sampled (krait list says why).",
		       refusals_cnt(session__refusals(m->session)));
}

void metrics_write(const struct metrics *m, FILE *out)
{
	metrics_family(out, "krait_agent_info", "gauge",
		       "Always 1; the label is the version of krait.");
	metrics_value(out, "krait_agent_info", 1, "version", KRAIT_VERSION, NULL);
	metrics_number(out, "krait_windows_total", "counter", "Windows that have ended.",
		       m->windows);
	metrics_number(out, "krait_window_samples_total", "counter",
		       "Samples in windows that have ended.", m->samples);
	metrics_number(out, "krait_window_samples_dropped_total", "counter",
		       "Samples that were lost because their window had no room for them.",
		       m->dropped);
	metrics_family(out, "krait_last_window_timestamp_seconds", "gauge",
		       "When the last window ended, in seconds since 1970.");
	metrics_seconds(out, "krait_last_window_timestamp_seconds", m->ended_unix_ns, NULL);
	put_accounts(m, out);
	put_price(m, out);
	put_processes(m, out);
	cpu_totals_write(&m->cpu, out);
}

void metrics_free(struct metrics *m)
{
	cpu_totals_free(&m->cpu);
}
