/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/window_facts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void put(struct window_facts *f, const char *event, const char *outcome, const char *name,
		__u64 number)
{
	char *key = f->keys[f->cnt];

	if (f->cnt == WINDOW_FACTS_MAX)
		return;
	snprintf(key, WINDOW_FACT_KEY_MAX, "krait.window.%s%s%s%s%s", event, *event ? "." : "",
		 outcome, *name ? "." : "", name);
	for (char *c = key; *c; c++) {
		if (isspace((unsigned char)*c))
			*c = '_';
	}
	f->list[f->cnt++] =
		(struct otlp_attribute){ .key = key, .kind = OTLP_NUMBER, .number = (__s64)number };
}

/* Only reasons that occurred; the totals of outcomes always. */
static void put_accounts(struct window_facts *f, const char *event, const struct accounts *a)
{
	put(f, event, "interrupts", "", a->interrupts);
	for (enum outcome o = 0; o < OUTCOME_CNT; o++)
		put(f, event, outcome_name(o), "", accounts_total(a, o));
	for_each_reason(r) {
		if (a->reasons[r] && r != REASON_PYTHON)
			put(f, event, outcome_name(reason_outcome(r)), reason_name(r),
			    a->reasons[r]);
	}
	if (a->ticks_missed)
		put(f, event, "ticks", "missed", a->ticks_missed);
}

static void put_price(struct window_facts *f, const struct window_price *p)
{
	put(f, "", "rate", "", p->frequency);
	put(f, "", "frames_max", "", p->frames_max);
	put(f, "", "natives", "", p->natives);
	if (p->wait_ns)
		put(f, "", "wait_ns", "", p->wait_ns);
	put(f, "budget", "level", "", p->level);
	if (p->stalled)
		put(f, "budget", "stalled", "", 1);
	if (p->look_delay_ns)
		put(f, "budget", "look_delay_ns", "", p->look_delay_ns);
	if (p->starved_ns)
		put(f, "budget", "starved_ns", "", p->starved_ns);
	if (p->unseen)
		put(f, "processes", "unseen", "", p->unseen);
	if (p->names_put_off)
		put(f, "names", "put_off", "", p->names_put_off);
	if (p->names_left_out)
		put(f, "names", "left_out", "", p->names_left_out);
	put(f, "own", "cpu_ns", "", p->cpu_ns);
	put(f, "own", "kernel_ns", "", p->kernel_ns);
	put(f, "own", "server_ns", "", p->server_ns);
	put(f, "own", "rss_bytes", "", p->rss_bytes);
}

void window_facts_fill(struct window_facts *f, const struct window *w)
{
	memset(f, 0, sizeof(*f));
	put(f, "", "number", "", w->number);
	put_price(f, &w->price);
	if (w->samples.dropped)
		put(f, "", "samples", "dropped", w->samples.dropped);
	for (unsigned i = 0; i < w->profile->event_cnt && i < KRAIT_MAX_EVENTS; i++) {
		const struct event_spec *event = &profile__counts(w->profile, i)->event;

		put_accounts(f, event_is_off_cpu(event) ? "off_cpu" : "cpu", &w->accounts[i]);
	}
}
