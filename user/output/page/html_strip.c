/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html_strip.c - stores samples as columns of small numbers, which compress well. Lane (thread) by
 * lane, each entry has: the time since the entry before it, its node in three byte planes, its code
 * (state and measure), the length of a wait, and its weight unless that is one unit of its code or
 * the wait's length. gzip brings this to 2 to 3 bytes per entry.
 */
#include "output/page/html_strip.h"

#include <errno.h>
#include <stdlib.h>

#include "output/page/packed.h"
#include "output/timeline.h"
#include "profile/states.h"
#include "base/data/bytes.h"
#include "base/text/json.h"

/* Limit while recording; more samples are merged at once. */
#define KEPT_MAX (2U * HTML_STRIP_MAX)
/* Times are multiples of the whole divided by this, or of a microsecond. */
#define TIME_PARTS (1U << 20)
#define LEAST_QUANTUM_NS 1000ULL
/* The shortest stretches in which samples are merged, as parts of the whole. */
#define FIRST_PARTS (1U << 16)
#define MAX_CODES 128U
/* If weights differ from sample to sample, an average one is this many units. */
#define UNEVEN_PARTS 64

struct html_strip {
	struct timeline *timeline;
	__u64 added, kept, last_ns;
	__u64 width_ns; /* of the stretches; 0: samples are not merged */
	bool given_up; /* too many different stacks */
};

/* The meaning of an entry's code number. */
struct code {
	enum state state;
	unsigned event;
	bool is_wait; /* has a length */
	__u64 unit; /* of weight; 0: a wait, which weighs its own length */
};

enum column { TIMES, LOW, MIDDLE, HIGH, CODES, LENGTHS, WEIGHTS, COLUMN_CNT };

struct encoder {
	const struct profile *events; /* individual events, not their sum */
	unsigned event;
	bool times; /* all time, whatever the event */
	const __u32 *page_node;
	__u64 first_ns, last_ns, quantum_ns;
	struct code codes[MAX_CODES];
	unsigned code_cnt;
	struct bytes columns[COLUMN_CNT];
	size_t entry_cnt;
};

struct html_strip *html_strip__new(void)
{
	struct html_strip *s = calloc(1, sizeof(*s));

	if (s)
		s->timeline = timeline__new();
	if (s && !s->timeline) {
		free(s);
		return NULL;
	}
	return s;
}

void html_strip__free(struct html_strip *s)
{
	if (!s)
		return;
	timeline__free(s->timeline);
	free(s);
}

/* ---- as they come ----------------------------------------------------------------------------- */

/* Merges until at most max are left. If no stretch is long enough, gives up. */
static void thin(struct html_strip *s, __u64 max)
{
	__u64 span = s->last_ns - timeline__first_ns(s->timeline) + 1;
	__u64 width = s->width_ns ? 2 * s->width_ns : span / FIRST_PARTS + 1;

	for (; s->kept > max && width / 4 <= span; width *= 4) {
		s->kept = timeline__thin(s->timeline, width);
		s->width_ns = width;
	}
	if (s->kept <= max)
		return;
	s->given_up = true;
	timeline__free(s->timeline);
	s->timeline = NULL;
}

int html_strip__add(struct html_strip *s, const struct profile_sample *sample)
{
	struct profile_sample one = *sample;
	int err;

	s->added++;
	if (s->given_up)
		return 0;
	one.state = state_of(sample->state);
	err = timeline__add(s->timeline, &one);
	if (err)
		return err;
	if (sample->time_ns > s->last_ns)
		s->last_ns = sample->time_ns;
	if (++s->kept >= KEPT_MAX)
		thin(s, HTML_STRIP_MAX);
	return 0;
}

/* ---- entries ---------------------------------------------------------------------------------- */

static bool is_wanted(const struct encoder *e, const struct timeline_sample *s)
{
	return e->times ? profile__in_wall(e->events, s->event) : s->event == e->event;
}

static const struct counts *counts_of(const struct encoder *e, unsigned event)
{
	return profile__counts(e->events, event);
}

/* Without a known state, a clock tick means on CPU and a sample off CPU means waiting. */
static enum state state_of_sample(const struct encoder *e, const struct timeline_sample *s)
{
	const struct event_spec *event = &counts_of(e, s->event)->event;

	if (s->state != STATE_UNKNOWN || !event_is_time(event))
		return (enum state)s->state;
	return event_is_off_cpu(event) ? STATE_WAITING : STATE_CPU;
}

static __u64 unit_of(const struct encoder *e, const struct timeline_sample *s)
{
	const struct counts *c = counts_of(e, s->event);
	__u64 part = c->samples ? c->weight / c->samples / UNEVEN_PARTS : 0;

	if (s->from_ns && event_is_time(&c->event))
		return 0;
	return c->uneven && !event_is_clock(&c->event) ? part + 1 : s->weight ? s->weight : 1;
}

/* Returns the code's number; MAX_CODES: too many, which only a broken capture has. */
static unsigned code_of(struct encoder *e, const struct timeline_sample *s)
{
	const enum state state = state_of_sample(e, s);
	unsigned i;

	for (i = 0; i < e->code_cnt; i++) {
		const struct code *c = &e->codes[i];

		if (c->state == state && c->event == s->event && c->is_wait == (s->from_ns != 0))
			return i;
	}
	if (i < MAX_CODES)
		e->codes[e->code_cnt++] = (struct code){ .state = state,
							 .event = s->event,
							 .is_wait = s->from_ns != 0,
							 .unit = unit_of(e, s) };
	return i;
}

/* Returns the weight in units of the code, at least 1; 0: one unit, or the wait's length. */
static __u64 weight_of(const struct encoder *e, const struct code *c,
		       const struct timeline_sample *s, __u64 length)
{
	const __u64 unit = c->unit ? c->unit : e->quantum_ns;
	const __u64 n = (s->weight + unit / 2) / unit;

	if (c->unit ? n == 1 : n + 1 >= length && n <= length + 1)
		return 0;
	return n ? n : 1;
}

static __u64 ticks_of(const struct encoder *e, __u64 ns)
{
	return ns > e->first_ns ? (ns - e->first_ns) / e->quantum_ns : 0;
}

static int put_entry(struct encoder *e, const struct timeline_sample *s, __u64 *last)
{
	const unsigned number = code_of(e, s);
	const __u64 at = ticks_of(e, s->time_ns);
	const __u64 length = s->from_ns ? at - ticks_of(e, s->from_ns) : 0;
	const __u32 node = e->page_node[s->node];
	const struct code *c = &e->codes[number];
	__u64 weight;

	if (number == MAX_CODES)
		return -E2BIG;
	weight = weight_of(e, c, s, length);
	bytes_uleb(&e->columns[TIMES], at - *last);
	bytes_u8(&e->columns[LOW], (__u8)node);
	bytes_u8(&e->columns[MIDDLE], (__u8)(node >> 8));
	bytes_u8(&e->columns[HIGH], (__u8)(node >> 16));
	bytes_u8(&e->columns[CODES], (__u8)(2 * number + (weight != 0)));
	if (c->is_wait)
		bytes_uleb(&e->columns[LENGTHS], length);
	if (weight != 0)
		bytes_uleb(&e->columns[WEIGHTS], weight);
	*last = at;
	e->entry_cnt++;
	return 0;
}

/* Finds the first and the last time. */
static void measure(struct encoder *e, const struct timeline_thread *threads, size_t cnt)
{
	__u64 parts;

	e->first_ns = ~0ULL;
	for (size_t i = 0; i < cnt; i++) {
		for (size_t k = 0; k < threads[i].cnt; k++) {
			const struct timeline_sample *s = &threads[i].samples[k];
			const __u64 from = s->from_ns && s->from_ns < s->time_ns ? s->from_ns :
										   s->time_ns;

			if (!is_wanted(e, s))
				continue;
			e->first_ns = from < e->first_ns ? from : e->first_ns;
			e->last_ns = s->time_ns > e->last_ns ? s->time_ns : e->last_ns;
		}
	}
	e->first_ns = e->first_ns < e->last_ns ? e->first_ns : e->last_ns;
	parts = (e->last_ns - e->first_ns) / TIME_PARTS + 1;
	e->quantum_ns = parts > LEAST_QUANTUM_NS ? parts : LEAST_QUANTUM_NS;
}

/* ---- the page --------------------------------------------------------------------------------- */

static int put_lane(struct encoder *e, FILE *out, const struct timeline_thread *t, bool first)
{
	size_t before = e->entry_cnt;
	__u32 node = 0;
	__u64 last = 0;
	int err = 0;

	for (size_t i = 0; i < t->cnt && !err; i++) {
		if (!is_wanted(e, &t->samples[i]))
			continue;
		node = t->samples[i].node;
		err = put_entry(e, &t->samples[i], &last);
	}
	if (err || e->entry_cnt == before)
		return err;
	fprintf(out, "%s[%d,%d,%zu,", first ? "" : ",\n", t->pid, t->tid, e->entry_cnt - before);
	err = json_put_text(out, timeline_process_name(e->events->dict, node));
	if (err)
		return err;
	putc(',', out);
	err = json_put_text(out, t->name);
	putc(']', out);
	return err;
}

/* Writes process, thread, number of entries and both names. */
static int put_lanes(struct encoder *e, FILE *out, const struct timeline_thread *threads,
		     size_t cnt)
{
	int err = 0;

	fputs("\"lanes\":[", out);
	for (size_t i = 0; i < cnt && !err; i++)
		err = put_lane(e, out, &threads[i], !e->entry_cnt);
	fputs("],\n", out);
	return err;
}

/*
 * Writes for each code whether it is off CPU, whether it has a length, and the ns of its unit (0:
 * not time, or its length).
 */
static void put_codes(const struct encoder *e, FILE *out)
{
	fputs("\"codes\":[", out);
	for (unsigned i = 0; i < e->code_cnt; i++) {
		const struct code *c = &e->codes[i];
		const struct event_spec *event = &counts_of(e, c->event)->event;

		fprintf(out, "%s[\"%s\",%d,%d,%llu]", i ? "," : "", state_name(c->state),
			event_is_off_cpu(event), c->is_wait, event_is_time(event) ? c->unit : 0);
	}
	fputs("],\n", out);
}

static int put_columns(const struct encoder *e, FILE *out)
{
	int err;

	fputs("\"columns\":[", out);
	for (int i = 0; i < COLUMN_CNT; i++)
		fprintf(out, "%s%zu", i ? "," : "", e->columns[i].len);
	fputs("],\n\"data\":\"", out);
	err = put_packed(out, e->columns, COLUMN_CNT);
	fputs("\"", out);
	return err;
}

static int put_all(struct html_strip *s, struct encoder *e, FILE *out)
{
	size_t cnt;
	struct timeline_thread *threads =
		timeline__threads(s->timeline, e->events->dict, TIMELINE_ALL_EVENTS, &cnt);
	int err;

	measure(e, threads, cnt);
	err = put_lanes(e, out, threads, cnt);
	put_codes(e, out);
	fprintf(out, "\"quantum\":%llu,\"width\":%llu,\"samples\":%llu,\n", e->quantum_ns,
		s->width_ns, s->added);
	return err ? err : put_columns(e, out);
}

int html_strip__put(struct html_strip *s, FILE *out, const struct profile *p, unsigned event,
		    const struct html_measures *m, const __u32 *page_node)
{
	struct encoder e = { .events = p->sum_of ? p->sum_of : p,
			     .event = event,
			     .times = m->cpu != NULL || p->sum_of,
			     .page_node = page_node };
	int err = 0;

	if (!s->added)
		return 0;
	if (!s->given_up && s->kept > HTML_STRIP_MAX)
		thin(s, HTML_STRIP_MAX);
	fputs(",\n\"strip\":{", out);
	if (s->given_up)
		fprintf(out, "\"samples\":%llu", s->added);
	else
		err = put_all(s, &e, out);
	fputs("}", out);
	for (int i = 0; i < COLUMN_CNT; i++)
		bytes_free(&e.columns[i]);
	return err;
}
