/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * accounts.c - names of reasons, and the books of a recording as one line of text.
 */
#include "profile/accounts.h"

#include <stdarg.h>
#include <stddef.h>

static const struct {
	const char *name;
	enum outcome outcome;
} reasons[REASON_CNT] = {
	[REASON_PYTHON] = { "python", OUTCOME_COMPLETE },
	[REASON_NO_RUNTIME] = { "no runtime", OUTCOME_COMPLETE },
	[REASON_NATIVE_THREAD] = { "native thread", OUTCOME_COMPLETE },
	[REASON_EXITING] = { "exiting", OUTCOME_COMPLETE },
	[REASON_EXECING] = { "execing", OUTCOME_COMPLETE },
	[REASON_DEPTH] = { "depth", OUTCOME_TRUNCATED },
	[REASON_FRAME_FAULT] = { "frame fault", OUTCOME_TRUNCATED },
	[REASON_NO_BASE] = { "no base", OUTCOME_TRUNCATED },
	[REASON_RUNTIME_FAULT] = { "runtime fault", OUTCOME_LOST },
	[REASON_THREAD_FAULT] = { "thread fault", OUTCOME_LOST },
	[REASON_THREAD_TORN] = { "thread torn", OUTCOME_LOST },
	[REASON_THREAD_LIMIT] = { "thread limit", OUTCOME_LOST },
	[REASON_BAD_FRAME] = { "bad frame", OUTCOME_LOST },
	[REASON_CYCLE] = { "cycle", OUTCOME_LOST },
	[REASON_NO_LAYOUT] = { "no layout", OUTCOME_LOST },
	[REASON_RING_FULL] = { "ring full", OUTCOME_LOST },
	[REASON_BAD_RECORD] = { "bad record", OUTCOME_LOST },
	[REASON_NO_PROCESS] = { "no process", OUTCOME_LOST },
	[REASON_NO_CACHE] = { "no cache", OUTCOME_LOST },
	[REASON_NO_ROOM] = { "no room", OUTCOME_LOST },
};

const char *reason_name(enum reason reason)
{
	if ((unsigned)reason >= REASON_CNT || !reasons[reason].name)
		return "unknown";
	return reasons[reason].name;
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

enum outcome reason_outcome(enum reason reason)
{
	/* A reason that has no name here cannot count as a good sample. */
	if ((unsigned)reason >= REASON_CNT || !reasons[reason].name)
		return OUTCOME_LOST;
	return reasons[reason].outcome;
}

__u64 accounts_total(const struct accounts *a, enum outcome outcome)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < REASON_CNT; i++)
		if (reason_outcome((enum reason)i) == outcome)
			sum += a->reasons[i];
	return sum;
}

__s64 accounts_balance(const struct accounts *a)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < REASON_CNT; i++)
		sum += a->reasons[i];
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
	__u64 due = a->interrupts + a->ticks_missed;

	return due ? (double)a->ticks_missed / (double)due : 0;
}

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

/* " (ring full 2, cycle 1)"; the ordinary reason, a whole Python stack, goes without saying. */
static void line_add_reasons(struct line *l, const struct accounts *a, enum outcome outcome)
{
	const char *separator = " (";
	int i;

	for (i = 0; i < REASON_CNT; i++) {
		if (i == REASON_PYTHON || !a->reasons[i] ||
		    reason_outcome((enum reason)i) != outcome)
			continue;
		line_add(l, "%s%s %llu", separator, reason_name((enum reason)i),
			 (unsigned long long)a->reasons[i]);
		separator = ", ";
	}
	if (*separator == ',')
		line_add(l, ")");
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
		line_add(&l, "; %llu of %llu timer ticks missed",
			 (unsigned long long)a->ticks_missed,
			 (unsigned long long)(a->interrupts + a->ticks_missed));
}
