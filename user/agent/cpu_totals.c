/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/cpu_totals.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/metrics_text.h"

/* Windows without CPU time after which a process has no row any more. */
#define QUIET_WINDOWS 64

static bool is_row_of(const struct cpu_total *row, const struct cpu_total *like)
{
	return row->pid == like->pid && row->uid == like->uid &&
	       !strcmp(row->service, like->service);
}

/* Each row knows how many its user has. */
static void count(struct cpu_table *t, uid_t uid, unsigned held)
{
	for (unsigned i = 0; i < t->cnt; i++) {
		if (t->rows[i].uid == uid)
			t->rows[i].held = held;
	}
}

static unsigned held_by(const struct cpu_table *t, uid_t uid)
{
	for (unsigned i = 0; i < t->cnt; i++) {
		if (t->rows[i].uid == uid)
			return t->rows[i].held;
	}
	return 0;
}

static void drop(struct cpu_table *t, unsigned i)
{
	const struct cpu_total row = t->rows[i];

	t->left_out_ns += row.ns;
	free(row.service);
	t->rows[i] = t->rows[--t->cnt];
	count(t, row.uid, row.held - 1);
}

/* Whoever would have most rows, if the newcomer had one. */
static uid_t largest(const struct cpu_table *t, uid_t newcomer)
{
	unsigned most = held_by(t, newcomer) + 1;
	uid_t uid = newcomer;

	for (unsigned i = 0; i < t->cnt; i++) {
		if (t->rows[i].uid != newcomer && t->rows[i].held > most) {
			most = t->rows[i].held;
			uid = t->rows[i].uid;
		}
	}
	return uid;
}

/* Of equal age, the one with less CPU time goes. */
static bool goes_before(const struct cpu_total *a, const struct cpu_total *b)
{
	return a->window != b->window ? a->window < b->window : a->ns < b->ns;
}

/* Drops a row for the newcomer; false: it has none better than its own that are still in use. */
static bool make_room(struct cpu_table *t, uid_t newcomer, __u64 window)
{
	uid_t uid = largest(t, newcomer);
	unsigned found = t->cnt;

	for (unsigned i = 0; i < t->cnt; i++) {
		if (t->rows[i].uid == uid &&
		    (found == t->cnt || goes_before(&t->rows[i], &t->rows[found])))
			found = i;
	}
	/* Rows that come and go are of no use to anybody. */
	if (found == t->cnt || (uid == newcomer && t->rows[found].window + 1 >= window))
		return false;
	drop(t, found);
	return true;
}

static void add(struct cpu_table *t, const struct cpu_total *new)
{
	struct cpu_total *row;
	char *service;

	for (unsigned i = 0; i < t->cnt; i++) {
		row = &t->rows[i];
		if (is_row_of(row, new)) {
			row->ns += new->ns;
			row->window = new->window;
			return;
		}
	}
	service = t->cnt < CPU_TOTALS_MAX || make_room(t, new->uid, new->window) ?
			  strdup(new->service) :
			  NULL;
	if (!service) {
		t->left_out_ns += new->ns;
		return;
	}
	row = &t->rows[t->cnt];
	*row = *new;
	row->service = service;
	row->held = held_by(t, new->uid) + 1;
	t->cnt++;
	count(t, row->uid, row->held);
}

void cpu_totals_add(struct cpu_totals *t, const char *service, uid_t uid, int pid, __u64 ns)
{
	struct cpu_total row = {
		.service = (char *)service, .uid = uid, .ns = ns, .window = t->window
	};

	add(&t->services, &row);
	row.pid = pid;
	add(&t->processes, &row);
}

void cpu_totals_end_window(struct cpu_totals *t)
{
	t->window++;
	for (unsigned i = t->processes.cnt; i-- > 0;) {
		if (t->processes.rows[i].window + QUIET_WINDOWS < t->window)
			drop(&t->processes, i);
	}
}

static void put_rows(const struct cpu_table *t, FILE *out, const char *name)
{
	for (unsigned i = 0; i < t->cnt; i++) {
		const struct cpu_total *row = &t->rows[i];
		char uid[16] = "", pid[16];

		if (row->uid != (uid_t)-1)
			snprintf(uid, sizeof(uid), "%u", row->uid);
		snprintf(pid, sizeof(pid), "%d", row->pid);
		metrics_seconds(out, name, row->ns, "service", row->service, "uid", uid,
				row->pid ? "pid" : NULL, pid, NULL);
	}
}

void cpu_totals_write(const struct cpu_totals *t, FILE *out)
{
	metrics_family(out, "krait_service_cpu_seconds_total", "counter",
		       "CPU time of Python processes by service, as sampled.");
	put_rows(&t->services, out, "krait_service_cpu_seconds_total");
	metrics_family(out, "krait_process_cpu_seconds_total", "counter",
		       "CPU time of Python processes that run, as sampled.");
	put_rows(&t->processes, out, "krait_process_cpu_seconds_total");
	metrics_family(
		out, "krait_cpu_seconds_left_out_total", "counter",
		"CPU time of services, or processes, that have no row (of 256) or have it no longer.");
	metrics_seconds(out, "krait_cpu_seconds_left_out_total", t->services.left_out_ns, "of",
			"services", NULL);
	metrics_seconds(out, "krait_cpu_seconds_left_out_total", t->processes.left_out_ns, "of",
			"processes", NULL);
}

void cpu_totals_free(struct cpu_totals *t)
{
	struct cpu_table *tables[] = { &t->services, &t->processes };

	for (unsigned k = 0; k < 2; k++) {
		for (unsigned i = 0; i < tables[k]->cnt; i++)
			free(tables[k]->rows[i].service);
	}
	*t = (struct cpu_totals){ 0 };
}
