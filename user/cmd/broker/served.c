/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/broker/served.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/arguments.h"
#include "kernel/sampler/sampler.h"
#include "base/system/clock.h"
#include "base/text/units.h"

#define NAME_MAX_LEN 24
#define TEXT_MAX_LEN 64
/* Without an option: of record for processes, of record for all and top, of a look at running threads. */
#define DEFAULT_RATE 997
#define DEFAULT_RATE_ALL 99
/* Of a command that prints; it ends by itself, mostly. */
#define LOOK_NS (600 * NS_PER_SEC)

enum kind {
	IS_CLIENTS, /* what is made of it: the client's own matter */
	IS_FLAG,
	IS_NUMBER, /* up to max */
	IS_PERCENT,
	IS_RATE,
	IS_TIME, /* up to max seconds */
	IS_SIZE, /* up to max bytes */
	IS_PIDS,
	IS_TEXT, /* compared, and never a path */
	IS_CHOICE, /* one of choices */
};

#define R (1U << BROKER_RECORD)
#define D (1U << BROKER_DUMP)
#define L (1U << BROKER_LIST)
#define T (1U << BROKER_TOP)
#define C (1U << BROKER_DOCTOR)

static const struct row {
	const char *name;
	unsigned commands;
	enum kind kind;
	bool optional; /* it may have no value */
	bool usual; /* a recording with it has the programs of one without */
	__u64 max;
	const char *choices; /* between blanks */
} options[] = {
	{ "pid", R | D | L | T | C, IS_PIDS, .usual = true },
	{ "all", R | D | T, IS_FLAG },
	{ "name", R | D | T, IS_TEXT },
	{ "thread", R | D | T, IS_TEXT },
	{ "freq", R | T, IS_RATE, .max = SERVED_RATE_MAX, .usual = true },
	{ "rate", R | T, IS_RATE, .max = SERVED_RATE_MAX, .usual = true },
	{ "duration", R | T, IS_TIME, .max = SERVED_SECONDS_MAX, .usual = true },
	{ "max-loss", R, IS_PERCENT, .usual = true },
	{ "becoming", R, IS_FLAG, .usual = true },
	{ "event", R, IS_CHOICE, .choices = " cpu-clock task-clock " },
	{ "off-cpu", R | T, IS_TIME, .optional = true, .max = SERVED_SECONDS_MAX },
	{ "wall", R, IS_FLAG },
	{ "idle", R, IS_FLAG },
	{ "gil", R, IS_FLAG },
	{ "state", R, IS_TEXT },
	{ "native", R | D | T, IS_FLAG, .usual = true },
	{ "no-native", R, IS_FLAG },
	{ "kernel", R | T, IS_FLAG, .usual = true },
	{ "no-kernel", R, IS_FLAG },
	{ "interpreter-frames", R, IS_FLAG, .usual = true },
	{ "inline", R, IS_FLAG, .usual = true },
	{ "jitter", R, IS_FLAG },
	{ "async", R, IS_CHOICE, true, .choices = " tasks both " },
	{ "no-async", R | T, IS_FLAG },
	{ "tasks", R, IS_NUMBER, true, .max = 10 },
	{ "task-names", R, IS_FLAG },
	{ "no-greenlets", R | T, IS_FLAG },
	{ "opcodes", R, IS_FLAG },
	{ "anchors", R, IS_CHOICE, .choices = " auto on off " },
	{ "audit", R, IS_NUMBER, .max = 1000000 },
	{ "ring-size", R, IS_SIZE, .max = 64ULL << 20 },
	{ "unwind-memory", R, IS_SIZE, .max = 256ULL << 20 },
	/* What others would pay for. */
	{ "no-realtime", R | T, IS_CLIENTS },
	{ "subprocesses", R, IS_CLIENTS },
	{ "nonblocking", R, IS_CLIENTS },
	{ "all-threads", R, IS_CLIENTS },
	{ "call-graph", R, IS_CLIENTS },
	{ "clockid", R, IS_CLIENTS },
	{ "output", R, IS_CLIENTS },
	{ "format", R, IS_CLIENTS },
	{ "compression-level", R, IS_CLIENTS },
	{ "lines", R, IS_CLIENTS },
	{ "threads", R, IS_CLIENTS },
	{ "no-process", R, IS_CLIENTS },
	{ "no-source", R, IS_CLIENTS },
	{ "editor", R, IS_CLIENTS },
	{ "cells", R, IS_CLIENTS },
	{ "open", R, IS_CLIENTS },
	{ "quiet", R, IS_CLIENTS },
	{ "verbose", R, IS_CLIENTS },
	{ "json", D | L | T | C, IS_FLAG },
	{ "verbose", L, IS_FLAG },
	{ "count", D, IS_NUMBER, .max = 1000 },
	{ "interval", D | T, IS_TIME, .max = SERVED_SECONDS_MAX },
	{ "tasks", D, IS_FLAG },
	{ "greenlets", D, IS_FLAG },
	{ "locals", D, IS_FLAG },
	{ "rounds", T, IS_NUMBER, .max = 1000000000 },
	{ "batch", T, IS_FLAG },
	{ "view", T, IS_TEXT },
	{ "sort", T, IS_TEXT },
	{ "limit", T, IS_NUMBER, .max = 1000 },
	{ "shares", T, IS_FLAG },
};

const char *served_command(enum broker_command command)
{
	static const char *const names[BROKER_COMMANDS] = { "record", "dump", "list", "top",
							    "doctor" };

	return names[command];
}

static const struct row *find(__u32 command, const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		const struct row *o = &options[i];

		if (o->commands & 1U << command && !strncmp(o->name, name, len) && !o->name[len])
			return o;
	}
	return NULL;
}

/* ---- values ----------------------------------------------------------------------------------- */

static bool is_number(const char *text, __u64 max)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	return *text >= '0' && *text <= '9' && !*end && n <= max;
}

static bool is_percent(const char *text)
{
	char *end;
	double percent = strtod(text, &end);

	end += end != text && *end == '%';
	return end != text && !*end && percent >= 0 && percent <= 100;
}

static bool is_text(const char *text)
{
	size_t len = 0;

	for (; text[len]; len++)
		if (text[len] < ' ' || text[len] > '~')
			return false;
	return len && len <= TEXT_MAX_LEN;
}

static bool is_choice(const char *text, const char *choices)
{
	char word[TEXT_MAX_LEN + 3];

	if (!is_text(text) || strchr(text, ' '))
		return false;
	snprintf(word, sizeof(word), " %s ", text);
	return strstr(choices, word);
}

/* "12,34", as arguments_next_pid() takes it. */
static bool take_pids(struct served *ret, const char *text)
{
	char *end;

	do {
		long pid = strtol(text, &end, 10);

		if (*text < '0' || *text > '9' || pid < 1 || pid > ARGUMENTS_PID_MAX ||
		    ret->pid_cnt == SERVED_PIDS_MAX)
			return false;
		ret->pids[ret->pid_cnt++] = (pid_t)pid;
		text = end + 1;
	} while (*end == ',');
	return !*end;
}

static bool take_value(const struct row *o, const char *value, struct served *ret)
{
	__u64 n;

	if (!value)
		return o->kind == IS_FLAG || o->optional;
	switch (o->kind) {
	case IS_NUMBER:
		return is_number(value, o->max);
	case IS_PERCENT:
		return is_percent(value);
	case IS_RATE:
		return !parse_rate(value, &ret->rate) && ret->rate <= o->max;
	case IS_TIME:
		if (parse_duration(value, &n) || n > o->max * NS_PER_SEC)
			return false;
		if (!strcmp(o->name, "duration"))
			ret->duration_ns = n;
		return true;
	case IS_SIZE:
		if (parse_size(value, &n) || n > o->max)
			return false;
		*(strcmp(o->name, "ring-size") ? &ret->unwind : &ret->ring) = n;
		return true;
	case IS_PIDS:
		return take_pids(ret, value);
	case IS_TEXT:
		return is_text(value);
	case IS_CHOICE:
		return is_choice(value, o->choices);
	default:
		return false;
	}
}

/* ---- the broker's side ------------------------------------------------------------------------ */

const char *served_next(const struct broker_request *r, const char *word)
{
	const char *next = word ? word + strlen(word) + 1 : r->words;

	return next < r->words + sizeof(r->words) && *next ? next : NULL;
}

/* One that take_value() has not refused. */
static void note(const struct row *o, struct served *ret)
{
	ret->locals = ret->locals || !strcmp(o->name, "locals");
	ret->kernel = ret->kernel || !strcmp(o->name, "kernel");
	ret->usual = ret->usual && o->usual;
}

static bool take_word(const struct broker_request *r, const char *word, struct served *ret)
{
	size_t len = strcspn(word, "=");
	const struct row *o;

	if (len < 3 || strncmp(word, "--", 2))
		return false;
	o = find(r->command, word + 2, len - 2);
	if (!o || o->kind == IS_CLIENTS || !take_value(o, word[len] ? word + len + 1 : NULL, ret))
		return false;
	note(o, ret);
	return true;
}

const char *served_check(const struct broker_request *r, struct served *ret)
{
	static const char *const differ = "this krait and the service differ in version";
	const char *word = NULL;
	__u32 cnt = 0, events = 0;

	*ret = (struct served){ .usual = r->command == BROKER_RECORD };
	if (r->version != BROKER_VERSION || r->command >= BROKER_COMMANDS ||
	    r->flags & ~(__u32)BROKER_FLAGS || r->word_cnt > BROKER_WORDS_MAX ||
	    r->words[sizeof(r->words) - 1])
		return differ;
	while ((word = served_next(r, word))) {
		if (++cnt > r->word_cnt || !take_word(r, word, ret))
			return differ;
		events += !strncmp(word, "--event=", strlen("--event="));
	}
	if (cnt != r->word_cnt)
		return differ;
	ret->usual = ret->usual && ret->pid_cnt;
	if (r->command == BROKER_RECORD || r->command == BROKER_TOP) {
		if (!ret->rate)
			ret->rate = r->command == BROKER_TOP || !ret->pid_cnt ? DEFAULT_RATE_ALL :
										DEFAULT_RATE;
		/* Each event is a clock, and has that rate. */
		ret->rate *= events ? events : 1;
		ret->limited = !ret->duration_ns;
		if (ret->limited)
			ret->duration_ns = SERVED_SECONDS_MAX * NS_PER_SEC;
	} else {
		ret->rate = r->command == BROKER_DUMP ? DEFAULT_RATE_ALL : 0;
		ret->duration_ns = LOOK_NS;
		ret->limited = true;
	}
	if (ret->rate) {
		ret->ring = sampler_ring_bytes(ret->ring);
		ret->unwind = ret->unwind ? ret->unwind : SAMPLER_UNWIND_BYTES;
	}
	return NULL;
}

/* ---- the client's ----------------------------------------------------------------------------- */

static const char *refusal(const struct row *o, const char *option, const char *arg)
{
	static _Thread_local char why[160];

	if (!o)
		snprintf(why, sizeof(why), "does not serve --%s", option);
	else if (o->kind == IS_RATE)
		snprintf(why, sizeof(why), "takes at most %llu samples a second", o->max);
	else if (o->kind == IS_TIME)
		snprintf(why, sizeof(why), "takes an hour at most: --%s=%.32s", option,
			 arg ? arg : "");
	else if (o->kind == IS_PIDS)
		snprintf(why, sizeof(why), "takes at most %d processes", SERVED_PIDS_MAX);
	else
		snprintf(why, sizeof(why), "does not serve --%s=%.32s", option, arg ? arg : "");
	return why;
}

const char *served_add(struct broker_request *r, const char *option, const char *arg)
{
	const struct row *o = find(r->command, option, strlen(option));
	struct served values = { 0 };
	size_t used = 0;
	int len;

	if (o && o->kind == IS_CLIENTS)
		return NULL;
	if (!o || !take_value(o, arg, &values))
		return refusal(o, option, arg);
	for (const char *word = NULL; (word = served_next(r, word));)
		used = (size_t)(word - r->words) + strlen(word) + 1;
	/* One byte stays zero. */
	len = snprintf(r->words + used, sizeof(r->words) - used - 1, "--%s%s%s", option,
		       arg ? "=" : "", arg ? arg : "");
	if (len < 0 || (size_t)len >= sizeof(r->words) - used - 1 ||
	    r->word_cnt == BROKER_WORDS_MAX) {
		r->words[used] = '\0';
		return "takes fewer options at once";
	}
	r->word_cnt++;
	return NULL;
}
