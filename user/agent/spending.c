/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/spending.h"

#include <stdio.h>

#include "base/system/clock.h"
#include "base/text/log.h"

/* How often to judge krait's cost within a window, and how often to check it for the hard stop. */
#define JUDGE_NS NS_PER_SEC
#define METER_NS (NS_PER_SEC / 10)
#define NAP_NS (NS_PER_SEC / 40)
#define SPARING_NAP_NS (NS_PER_SEC / 4)

/* The detail in which it samples now. */
static struct detail detail_of(const struct spending *s)
{
	struct detail d = *budget_detail(&s->budget);

	if (s->burst_until_ns)
		d = (struct detail){ .frequency = s->burst_hz,
				     .frames_max = KRAIT_MAX_FRAMES,
				     .natives = s->budget.levels[0].natives,
				     .wait_ns = s->budget.levels[0].wait_ns };
	return d;
}

static void apply_detail(struct spending *s)
{
	const struct detail now = detail_of(s), *d = &now;

	char why[64] = "", waits[32] = "";

	session__set_detail(s->session, d->frequency, d->frames_max, d->natives, d->wait_ns);
	if (s->burst_until_ns)
		snprintf(why, sizeof(why), "a burst: ");
	else if (s->budget.share > 0)
		snprintf(why, sizeof(why),
			 "used %.1f%% of a CPU, limit %g%%: ", 100 * s->budget.share,
			 100 * s->budget.config.cpu);
	if (d->wait_ns)
		snprintf(waits, sizeof(waits), ", waits from %llu ms",
			 (unsigned long long)(d->wait_ns + NS_PER_MS / 2) / NS_PER_MS);
	log_info("budget", "%snow %llu Hz, %u frames, native frames %s%s", why,
		 (unsigned long long)d->frequency, d->frames_max, d->natives ? "on" : "off", waits);
}

static void starve(struct spending *s)
{
	session__starve(s->session, s->budget.starving && !s->burst_until_ns);
}

/* ---- who pays ---------------------------------------------------------------------------------- */

/*
 * An owner whose names cost less than these parts, of the budget for a window and of what krait has
 * used, is not the cause. Names cost about as much again where they are written, packed and sent.
 */
#define PAYER_PART_OF_BUDGET 8
#define PAYER_PART_OF_USED 4

static void take_payers(struct spending *s)
{
	s->left_out = 0;
	for (unsigned owner = 0; owner < OWNER_CNT; owner++) {
		struct session_names names;

		session__names(s->session, owner, &names);
		s->left_out += names.left_out;
		if (owner != OWNER_ROOT && payers_take(&s->payers, owner, &names))
			session__bound_owner(s->session, owner, s->payers.list[owner].pays,
					     s->payers.list[owner].frames_max);
	}
}

static unsigned payer(const struct spending *s, __u64 used_ns)
{
	const struct budget_config *c = &s->budget.config;
	__u64 least_ns = (__u64)(c->cpu * (double)c->interval_ns) / PAYER_PART_OF_BUDGET;
	__u64 part_ns = (used_ns - s->used_before_ns[0]) / PAYER_PART_OF_USED;

	return payers_costliest(&s->payers, least_ns > part_ns ? least_ns : part_ns);
}

static void charge(struct spending *s, unsigned owner)
{
	unsigned windows = payers_charge(&s->payers, owner);
	char name[64];

	session__owner_name(s->session, owner, name, sizeof(name));
	log_info(
		"budget",
		"new names of %s cost most of what krait may use: they are left out for %u windows",
		name, windows);
	take_payers(s);
}

/* ---- what it costs ----------------------------------------------------------------------------- */

/* Is the budget overdrawn? Costs a small part of what judge() does. */
static void meter(struct spending *s, __u64 now_ns)
{
	if (now_ns < s->meter_ns)
		return;
	s->meter_ns = now_ns + METER_NS;
	take_payers(s);
	if (s->budget.config.cpu <= 0 || s->burst_until_ns)
		return;
	budget_meter(&s->budget, now_ns, usage_glance(&s->usage) + session__kernel_ns(s->session));
	starve(s);
}

/* True: the level has changed. If a lower level saves nothing, process starts are what costs. */
static bool judge(struct spending *s, bool at_end)
{
	unsigned owner;
	__u64 used_ns;
	bool changed;

	/* Memory is judged only at a window's end. */
	if (at_end)
		usage_read(&s->usage);
	s->kernel_ns = session__kernel_ns(s->session);
	if (s->burst_until_ns)
		return false;
	used_ns = (at_end ? s->usage.cpu_ns : usage_glance(&s->usage)) + s->kernel_ns;
	owner = payer(s, used_ns);
	s->budget.has_payer = owner != OWNER_ROOT;
	s->budget.charges = false;
	changed =
		budget_judge(&s->budget, clock_monotonic_ns(), used_ns, s->usage.rss_bytes, at_end);
	if (s->budget.charges)
		charge(s, owner);
	session__spare(s->session, s->budget.sparing);
	starve(s);
	return changed;
}

/* What was left undone because of the budget. */
static void take_left_out(struct spending *s, struct window_price *price)
{
	struct session_progress now;

	session__progress(s->session, &now);
	price->starved_ns = s->budget.starved_ns - s->window_starved_ns;
	price->unseen = now.unseen - s->window_unseen;
	price->names_put_off = now.names_put_off - s->window_put_off;
	price->names_left_out = s->left_out - s->window_left_out;
	s->window_starved_ns = s->budget.starved_ns;
	s->window_unseen = now.unseen;
	s->window_put_off = now.names_put_off;
	s->window_left_out = s->left_out;
}

void spending_take_price(struct spending *s, struct window *w)
{
	const struct detail now = detail_of(s), *d = &now;

	w->price = (struct window_price){ .frequency = d->frequency,
					  .frames_max = d->frames_max,
					  .natives = d->natives,
					  .wait_ns = d->wait_ns,
					  .level = s->budget.level,
					  .stalled = s->budget.stalled,
					  .look_delay_ns = session__look_delay_ns(s->session) };
	take_payers(s);
	if (judge(s, true) && !s->burst_until_ns)
		apply_detail(s);
	payers_end_window(&s->payers);
	take_payers(s);
	s->used_before_ns[0] = s->used_before_ns[1];
	s->used_before_ns[1] = s->usage.cpu_ns + s->kernel_ns;
	take_left_out(s, &w->price);
	w->price.cpu_ns = s->usage.cpu_ns - s->window_cpu_ns;
	w->price.kernel_ns = s->kernel_ns - s->window_kernel_ns;
	w->price.server_ns = s->usage.apart_ns - s->window_server_ns;
	w->price.rss_bytes = s->usage.rss_bytes;
	s->window_cpu_ns = s->usage.cpu_ns;
	s->window_kernel_ns = s->kernel_ns;
	s->window_server_ns = s->usage.apart_ns;
}

/* What a burst cost is not held against the restored level. */
static void end_burst(struct spending *s)
{
	s->burst_until_ns = 0;
	usage_read(&s->usage);
	budget_pardon(&s->budget, clock_monotonic_ns(),
		      s->usage.cpu_ns + session__kernel_ns(s->session));
	apply_detail(s);
}

void spending_burst(struct spending *s, __u64 frequency, __u64 ns)
{
	s->burst_hz = frequency;
	s->burst_until_ns = clock_monotonic_ns() + ns;
	starve(s);
	apply_detail(s);
}

void spending_check(struct spending *s, __u64 now_ns)
{
	if (s->burst_until_ns && now_ns >= s->burst_until_ns)
		end_burst(s);
	meter(s, now_ns);
	if (s->budget.config.cpu <= 0 || s->burst_until_ns || now_ns < s->judge_ns)
		return;
	s->judge_ns = now_ns + JUDGE_NS;
	if (judge(s, false))
		apply_detail(s);
}

void spending_begin(struct spending *s, struct session *session, const struct budget_config *config,
		    const struct payers_config *payers)
{
	s->session = session;
	payers_configure(&s->payers, payers);
	budget_init(&s->budget, config);
}

void spending_renew(struct spending *s, const struct budget_config *config, bool running)
{
	budget_renew(&s->budget, config);
	if (!running)
		return;
	session__spare(s->session, s->budget.sparing);
	starve(s);
	apply_detail(s);
}

__u64 spending_nap_ns(const struct spending *s)
{
	bool spares = s->budget.sparing || s->budget.starving;

	if (!(s->budget.level || spares) || s->burst_until_ns)
		return 0;
	return spares ? SPARING_NAP_NS : NAP_NS;
}
