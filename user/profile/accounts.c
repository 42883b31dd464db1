/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * accounts.c - names of reasons, and the accounts of a recording as a line of text.
 */
#include "profile/accounts.h"

#include <stdarg.h>
#include <stddef.h>

#include "profile/marks.h"
#include "base/text/units.h"

static const char *const reason_names[REASON_CNT] = {
	[REASON_PYTHON] = "python",
	[REASON_NO_RUNTIME] = "no runtime",
	[REASON_NATIVE_THREAD] = "native thread",
	[REASON_EXITING] = "exiting",
	[REASON_EXECING] = "execing",
	[REASON_FINALIZING] = "finalizing",
	[REASON_GREENLET] = "greenlet",
	[REASON_SWITCHING] = "switching greenlets",
	[REASON_DEPTH] = "depth",
	[REASON_FRAME_FAULT] = "frame fault",
	[REASON_NO_BASE] = "no base",
	[REASON_INTERPRETER] = "other interpreter",
	[REASON_RUNTIME_FAULT] = "runtime fault",
	[REASON_THREAD_FAULT] = "thread fault",
	[REASON_THREAD_TORN] = "thread torn",
	[REASON_THREAD_LIMIT] = "thread limit",
	[REASON_BAD_FRAME] = "bad frame",
	[REASON_CYCLE] = "cycle",
	[REASON_NO_LAYOUT] = "no layout",
	[REASON_RING_FULL] = "ring full",
	[REASON_BAD_RECORD] = "bad record",
	[REASON_NO_PROCESS] = "no process",
	[REASON_NO_CACHE] = "no cache",
	[REASON_NO_ROOM] = "no room",
	[REASON_NESTED] = "nested",
};

const char *reason_name(enum reason reason)
{
	if (!reason_is_known(reason) || !reason_names[reason])
		return "unknown";
	return reason_names[reason];
}

const char *outcome_name(enum outcome outcome)
{
	switch (outcome) {
	case OUTCOME_COMPLETE:
		return "complete";
	case OUTCOME_TRUNCATED:
		return "truncated";
	case OUTCOME_LOST:
		return "lost";
	case OUTCOME_CNT:
		break;
	}
	return "unknown";
}

void accounts_add(struct accounts *a, const struct accounts *more)
{
	a->interrupts += more->interrupts;
	for_each_reason(r)
		a->reasons[r] += more->reasons[r];
	a->unknown_frames += more->unknown_frames;
	a->unknown_samples += more->unknown_samples;
	a->unwanted += more->unwanted;
	a->events_dropped += more->events_dropped;
	a->ticks_asked += more->ticks_asked;
	a->ticks_missed += more->ticks_missed;
	a->not_sampled += more->not_sampled;
	a->over_ns += more->over_ns;
}

void accounts_subtract(struct accounts *a, const struct accounts *less)
{
	a->interrupts -= less->interrupts;
	for_each_reason(r)
		a->reasons[r] -= less->reasons[r];
	a->unknown_frames -= less->unknown_frames;
	a->unknown_samples -= less->unknown_samples;
	a->unwanted -= less->unwanted;
	a->events_dropped -= less->events_dropped;
	a->ticks_asked -= less->ticks_asked;
	a->ticks_missed -= less->ticks_missed;
	a->not_sampled -= less->not_sampled;
	a->over_ns -= less->over_ns;
}

__u64 accounts_total(const struct accounts *a, enum outcome outcome)
{
	__u64 sum = 0;

	for_each_reason(r) {
		if (reason_outcome(r) == outcome)
			sum += a->reasons[r];
	}
	return sum;
}

__s64 accounts_balance(const struct accounts *a)
{
	__u64 sum = 0;

	for_each_reason(r)
		sum += a->reasons[r];
	return (__s64)(a->interrupts - sum);
}

double accounts_lost_share(const struct accounts *a)
{
	if (!a->interrupts)
		return 0;
	return (double)accounts_total(a, OUTCOME_LOST) / (double)a->interrupts;
}

double accounts_missed_share(const struct accounts *a)
{
	/* Whether a missed one would have been wanted is unknown. */
	__u64 due = a->interrupts + a->unwanted + a->ticks_missed;

	return due ? (double)a->ticks_missed / (double)due : 0;
}

/* A busy machine misses some; a larger share is worth a word. */
#define MISSED_PERCENT 1.0

/* Text that grows in a fixed buffer; what does not fit is cut. */
struct line {
	char *buf;
	size_t size, len;
};

static void __attribute__((format(printf, 2, 3))) line_add(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (l->len + 1 >= l->size)
		return;
	va_start(ap, fmt);
	n = vsnprintf(l->buf + l->len, l->size - l->len, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	l->len += (size_t)n;
	if (l->len >= l->size)
		l->len = l->size - 1;
}

/* " (ring full 2, cycle 1)"; omits the normal reason, a whole Python stack. */
static void line_add_reasons(struct line *l, const struct accounts *a, enum outcome outcome)
{
	const char *separator = " (";

	for_each_reason(r) {
		if (r == REASON_PYTHON || !a->reasons[r] || reason_outcome(r) != outcome)
			continue;
		line_add(l, "%s%s %llu", separator, reason_name(r),
			 (unsigned long long)a->reasons[r]);
		separator = ", ";
	}
	if (*separator == ',')
		line_add(l, ")");
}

static void line_add_ticks(struct line *l, const struct accounts *a)
{
	line_add(l, "; %llu of %llu timer ticks missed", (unsigned long long)a->ticks_missed,
		 (unsigned long long)(a->interrupts + a->ticks_missed));
}

/* CPU time is told in samples, since these are what the line is about. */
static void line_add_not_sampled(struct line *l, const struct accounts *a)
{
	line_add(l, "; %llu more stand for CPU time that no tick found: " MARK_NOT_SAMPLED,
		 (unsigned long long)a->not_sampled);
}

void accounts_format(const struct accounts *a, char *buf, size_t size)
{
	struct line l = { .buf = buf, .size = size };
	__s64 balance = accounts_balance(a);
	int i;

	if (!size)
		return;
	buf[0] = '\0';
	line_add(&l, "%llu interrupts", (unsigned long long)a->interrupts);
	for (i = 0; i < OUTCOME_CNT; i++) {
		line_add(&l, " %c %llu %s", i ? '+' : '=',
			 (unsigned long long)accounts_total(a, (enum outcome)i),
			 outcome_name((enum outcome)i));
		line_add_reasons(&l, a, (enum outcome)i);
	}
	if (balance)
		line_add(&l, " %c %llu unaccounted", balance > 0 ? '+' : '-',
			 balance > 0 ? (unsigned long long)balance :
				       0 - (unsigned long long)balance);
	if (a->ticks_asked)
		line_add_ticks(&l, a);
	if (a->not_sampled)
		line_add_not_sampled(&l, a);
}

void accounts_say(const struct accounts *a, char *buf, size_t size)
{
	struct line l = { .buf = buf, .size = size };
	const __u64 lost = accounts_total(a, OUTCOME_LOST);
	const __s64 balance = accounts_balance(a);
	const double missed = 100 * accounts_missed_share(a), share = 100 * accounts_lost_share(a);
	char part[32], whole[32];

	if (!size)
		return;
	buf[0] = '\0';
	if (!a->interrupts)
		return;
	format_count(part, sizeof(part), lost);
	format_count(whole, sizeof(whole), a->interrupts);
	if (lost)
		line_add(&l, "%s of %s lost (%.*f%%)", part, whole, share < 1 ? 2 : 1, share);
	else
		line_add(&l, "none lost");
	if (balance)
		line_add(&l, ", %lld unaccounted", balance);
	if (missed >= MISSED_PERCENT)
		line_add(&l, ", %.1f%% of the timer's ticks never came", missed);
	if (a->events_dropped)
		line_add(&l, ", %llu process events dropped", a->events_dropped);
}
