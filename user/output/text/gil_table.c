/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/text/gil_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "output/escape.h"
#include "output/gil_waits.h"
#include "profile/states.h"
#include "base/data/compare.h"
#include "base/text/charset.h"
#include "base/text/short_path.h"
#include "base/text/stream.h"
#include "base/data/vec.h"

/* For a time in ns: 146 years. Only a hostile file has more. */
#define TIME_BITS 62
/* At least one tick in so many arrives; a larger ratio is nonsense. */
#define STRETCH_MAX 1000

struct gil_table {
	struct gil_sample *samples;
	size_t cnt, cap;
};

/* One lock, and how much time its samples cover. */
struct lock {
	const struct dict *dict;
	struct gil_sample *samples;
	size_t cnt;
	__u32 number;
	struct gil_times times;
	struct gil_waits waits;
};

struct gil_table *gil_table__new(void)
{
	return calloc(1, sizeof(struct gil_table));
}

void gil_table__free(struct gil_table *t)
{
	if (!t)
		return;
	free(t->samples);
	free(t);
}

static __u32 lock_of(const struct gil_sample *s)
{
	return s->state >> STATE_GIL_SHIFT;
}

int gil_table__add(struct gil_table *t, const struct profile *p, const struct profile_sample *s)
{
	const struct event_spec *event = &profile__counts(p, s->event)->event;
	bool off = event_is_off_cpu(event);
	__u64 from_ns = s->time_ns;

	if (!(s->state >> STATE_GIL_SHIFT) || !profile__in_wall(p, s->event) ||
	    (s->time_ns | s->period) >> TIME_BITS)
		return 0;
	if (vec_reserve(t->samples, t->cap, t->cnt + 1))
		return -ENOMEM;
	if (off && s->from_ns)
		from_ns = s->from_ns;
	else if (off)
		from_ns = s->period < s->time_ns ? s->time_ns - s->period : 0;
	t->samples[t->cnt++] = (struct gil_sample){
		.from_ns = from_ns < s->time_ns ? from_ns : s->time_ns,
		.to_ns = s->time_ns,
		.period_ns = s->period,
		.node = s->node,
		.state = s->state,
		.pid = s->pid,
		.tid = s->tid,
		.holder = s->holder,
		.off = off,
	};
	return 0;
}

/* Sorts by process, lock, thread and time. */
static int compare_samples(const void *a, const void *b)
{
	const struct gil_sample *x = a, *y = b;

	return compare_numbers(x->pid, y->pid)		       ?:
		       compare_numbers(lock_of(x), lock_of(y)) ?:
		       compare_numbers(x->tid, y->tid)	       ?:
		       compare_numbers(x->to_ns, y->to_ns)     ?:
		       compare_numbers(x->from_ns, y->from_ns);
}

/* ---- text --------------------------------------------------------------------------------------- */

static const char *name_above(const struct dict *dict, __u32 node, enum frame_kind kind)
{
	for (; node; node = dict__node_at(dict, node)->parent) {
		const struct profile_frame *f =
			dict__frame_at(dict, dict__node_at(dict, node)->frame);

		if (f->kind == kind)
			return dict__text(dict, f->name);
	}
	return "";
}

static const char *thread_name(const struct lock *l, int tid)
{
	for (size_t i = 0; i < l->waits.thread_cnt; i++) {
		if (l->waits.threads[i].tid == tid)
			return name_above(l->dict, l->waits.threads[i].node, FRAME_THREAD);
	}
	return "";
}

static int put_function(FILE *out, const struct dict *dict, struct gil_function f)
{
	const char *file = dict__text(dict, f.file);
	int err;

	if (!f.name) {
		fputs("unknown", out);
		return 0;
	}
	err = put_shown(out, dict__text(dict, f.name));
	if (err || !*file)
		return err;
	fputs(" (", out);
	err = put_shown(out, short_path(file));
	putc(')', out);
	return err;
}

static double percent(const struct lock *l, double ns)
{
	return l->times.all_ns > 0 ? 100 * ns / l->times.all_ns : 0;
}

static double by_share(const struct gil_thread *t)
{
	return t->waits_ns + t->holds_ns + t->without_ns;
}

static int compare_threads(const void *a, const void *b)
{
	const struct gil_thread *x = a, *y = b;

	return compare_numbers(by_share(y), by_share(x)) ?: compare_numbers(x->tid, y->tid);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct gil_pair *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

static int compare_hands(const void *a, const void *b)
{
	const struct gil_hand *x = a, *y = b;

	return (x->cnt < y->cnt) - (x->cnt > y->cnt);
}

static size_t shown(const struct summary_options *o, size_t cnt)
{
	return o->limit && o->limit < cnt ? o->limit : cnt;
}

static void put_more(FILE *out, const struct summary_options *o, size_t cnt)
{
	if (shown(o, cnt) < cnt)
		fprintf(out, "%s %zu more\n", charset_ellipsis(o->ascii), cnt - shown(o, cnt));
}

static int put_threads(FILE *out, struct lock *l, const struct summary_options *o)
{
	struct gil_waits *w = &l->waits;
	int err = 0;

	qsort(w->threads, w->thread_cnt, sizeof(*w->threads), compare_threads);
	fputs("  Waits   Holds  Without    Away      TID  Thread\n", out);
	for (size_t i = 0; i < shown(o, w->thread_cnt) && !err; i++) {
		const struct gil_thread *t = &w->threads[i];

		fprintf(out, " %5.1f%%  %5.1f%%   %5.1f%%  %5.1f%%  %7d  ", percent(l, t->waits_ns),
			percent(l, t->holds_ns), percent(l, t->without_ns), percent(l, t->away_ns),
			t->tid);
		err = put_shown(out, name_above(l->dict, t->node, FRAME_THREAD));
		putc('\n', out);
	}
	put_more(out, o, w->thread_cnt);
	return err;
}

static int put_pairs(FILE *out, struct lock *l, const struct summary_options *o)
{
	struct gil_waits *w = &l->waits;
	size_t cnt = 0;
	int err = 0;

	qsort(w->pairs, w->pair_cnt, sizeof(*w->pairs), compare_pairs);
	while (cnt < w->pair_cnt && w->ns > 0 && 100 * w->pairs[cnt].ns / w->ns >= o->min_percent)
		cnt++;
	if (!cnt) {
		fputs("\nnobody waited\n", out);
		return 0;
	}
	fputs("\n   Waited      ms  Longest  Waiting function, and what held the lock meanwhile\n",
	      out);
	for (size_t i = 0; i < shown(o, cnt) && !err; i++) {
		const struct gil_pair *p = &w->pairs[i];

		fprintf(out, "   %5.1f%% %7.1f  %7.1f  ", 100 * p->ns / w->ns, p->ns / 1e6,
			(double)p->longest_ns / 1e6);
		err = put_function(out, l->dict, p->waiter);
		fputs(o->ascii ? "  <-  " : "  ←  ", out);
		if (!err)
			err = put_function(out, l->dict, p->holder);
		putc('\n', out);
	}
	put_more(out, o, cnt);
	return err;
}

/* Returns how often the lock was handed the other way round. */
static double back(const struct gil_waits *w, const struct gil_hand *h)
{
	for (size_t i = 0; i < w->hand_cnt; i++) {
		if (w->hands[i].from == h->to && w->hands[i].to == h->from)
			return w->hands[i].cnt;
	}
	return 0;
}

static int put_hands(FILE *out, struct lock *l, const struct summary_options *o)
{
	struct gil_waits *w = &l->waits;
	int err = 0;

	if (!w->hand_cnt)
		return 0;
	qsort(w->hands, w->hand_cnt, sizeof(*w->hands), compare_hands);
	fputs("\n    Times   Per s     Back  Who hands it to whom\n", out);
	for (size_t i = 0; i < shown(o, w->hand_cnt) && !err; i++) {
		const struct gil_hand *h = &w->hands[i];

		fprintf(out, " %8.0f %7.1f %8.0f  %d ", h->cnt,
			l->times.all_ns > 0 ? h->cnt / (l->times.all_ns / 1e9) : 0, back(w, h),
			h->from);
		err = put_shown(out, thread_name(l, h->from));
		fprintf(out, "%s%d ", o->ascii ? "  ->  " : "  →  ", h->to);
		if (!err)
			err = put_shown(out, thread_name(l, h->to));
		putc('\n', out);
	}
	put_more(out, o, w->hand_cnt);
	return err;
}

static int put_lock(FILE *out, struct lock *l, const struct summary_options *o)
{
	int err = gil_waits_count(&l->waits, l->dict, l->samples, l->cnt, &l->times);
	char length[24];

	if (!err) {
		fputs("# ", out);
		err = put_shown(out, name_above(l->dict, l->samples->node, FRAME_PROCESS));
		report_time(length, l->times.all_ns);
		fprintf(out,
			" %d, interpreter lock %u: held in %.1f%% of %s, else free or unknown\n",
			l->samples->pid, l->number, percent(l, l->waits.holds_ns), length);
	}
	if (!err)
		err = put_threads(out, l, o);
	if (!err)
		err = put_pairs(out, l, o);
	if (!err)
		err = put_hands(out, l, o);
	gil_waits_free(&l->waits);
	return err;
}

/* ---- all ---------------------------------------------------------------------------------------- */

/* The first clock of the recording; NULL: none. */
static const struct counts *clock_of(const struct profile *p)
{
	for (unsigned i = 0; i < p->event_cnt; i++) {
		const struct counts *c = profile__counts(p, i);

		if (event_is_clock(&c->event) && profile__in_wall(p, i) && c->samples)
			return c;
	}
	return NULL;
}

/*
 * Some of the clock's ticks never came. Those that did stand for them too: there is no better
 * estimate.
 */
static double stretch_of(const struct counts *clock)
{
	if (!clock || !clock->accounts.interrupts ||
	    clock->weight != clock->samples * clock->sample_weight)
		return 1;
	return fmin(STRETCH_MAX,
		    1 + (double)clock->accounts.ticks_missed / (double)clock->accounts.interrupts);
}

static struct gil_times times_of(const struct gil_table *t, const struct profile *p)
{
	const struct counts *clock = clock_of(p), *c = profile__counts(p, 0);
	__u64 from_ns = ~0ULL, to_ns = 0;
	struct gil_times times = {
		.stretch = stretch_of(clock),
		.reach_ns = clock ? clock->sample_weight : 0,
	};

	if (c->to_ns > c->from_ns) {
		times.all_ns = (double)(c->to_ns - c->from_ns);
		return times;
	}
	for (size_t i = 0; i < t->cnt; i++) {
		from_ns = t->samples[i].from_ns < from_ns ? t->samples[i].from_ns : from_ns;
		to_ns = t->samples[i].to_ns > to_ns ? t->samples[i].to_ns : to_ns;
	}
	times.all_ns = (double)(to_ns - from_ns);
	return times;
}

int gil_table__print(struct gil_table *t, FILE *out, const struct profile *p,
		     const struct summary_options *o)
{
	const struct gil_times times = times_of(t, p);
	size_t first = 0;
	int err = 0;

	if (!t->cnt)
		return -ENODATA;
	qsort(t->samples, t->cnt, sizeof(*t->samples), compare_samples);
	for (size_t i = 0; i < t->cnt && !err; i++) {
		const struct gil_sample *s = &t->samples[i];
		struct lock l = { .dict = p->dict, .number = lock_of(s), .times = times };

		if (i + 1 < t->cnt && s[1].pid == s->pid && lock_of(&s[1]) == lock_of(s))
			continue;
		l.samples = &t->samples[first];
		l.cnt = i + 1 - first;
		if (first)
			putc('\n', out);
		first = i + 1;
		err = put_lock(out, &l, o);
	}
	return err ? err : stream_finish(out);
}
