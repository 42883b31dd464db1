/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/record/record_targets.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/common/arguments.h"
#include "record/run/session.h"
#include "process/proc/cgroup.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/worker/own.h"

static void add_pids(struct record_options *o, const char *text, struct argp_state *state)
{
	size_t before = o->pid_cnt;
	pid_t pid;

	while ((pid = arguments_next_pid(&text, state))) {
		if (o->pid_cnt == RECORD_MAX_PIDS)
			arguments_refuse(state, "too many processes: at most %d; use -a",
					 RECORD_MAX_PIDS);
		o->pids[o->pid_cnt++] = pid;
	}
	if (o->pid_cnt == before)
		arguments_refuse(state,
				 "-p takes process ids, such as 1234 or 12,34, and got none");
}

static void add_filter(const char *list[FILTER_MAX], size_t *cnt, const char *text,
		       struct argp_state *state)
{
	if (!*text)
		arguments_refuse(
			state, "--name takes a pattern and --cgroup a path; one of them is empty");
	if (*cnt == FILTER_MAX)
		arguments_refuse(state, "too many filters: at most %d of each kind", FILTER_MAX);
	list[(*cnt)++] = text;
}

static void add_name(struct record_options *o, const char *text, struct argp_state *state)
{
	add_filter(o->filter.names, &o->filter.name_cnt, text, state);
}

static void add_cgroup(struct record_options *o, const char *text, struct argp_state *state)
{
	const char *path = cgroup_find(text, "/proc/self/mounts");

	if (*text && !path) {
		log_error(NULL, "no control group \"%s\" (systemd-cgls shows which there are)",
			  text);
		exit(EXIT_CODE_TARGET);
	}
	/* The root of a hierarchy. */
	if (*text && !*path)
		path = "/";
	add_filter(o->filter.cgroups, &o->filter.cgroup_cnt, *text ? path : text, state);
}

static void add_user(struct record_options *o, const char *text, struct argp_state *state)
{
	struct filter *f = &o->filter;
	const struct passwd *user = getpwnam(text);
	unsigned long uid = user ? user->pw_uid : 0;
	char *end = "";

	if (!user)
		uid = strtoul(text, &end, 10);
	if (!user && (*text < '0' || *text > '9' || *end || uid >= (uid_t)-1))
		arguments_refuse(state, "no user \"%s\"", text);
	if (f->user_cnt == FILTER_MAX)
		arguments_refuse(state, "too many users: at most %d", FILTER_MAX);
	f->users[f->user_cnt++] = (uid_t)uid;
}

error_t record_targets_option(struct record_options *o, int key, const char *arg,
			      struct argp_state *state)
{
	switch (key) {
	case 'a':
		o->all = true;
		return 0;
	case 'p':
		add_pids(o, arg, state);
		return 0;
	case TARGET_NAME:
		add_name(o, arg, state);
		return 0;
	case TARGET_CGROUP:
		add_cgroup(o, arg, state);
		return 0;
	case 'u':
	case TARGET_USER:
		add_user(o, arg, state);
		return 0;
	case TARGET_THREAD:
		arguments_thread(&o->thread, arg, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void record_targets_settle(struct record_options *o, struct argp_state *state)
{
	/* Filters choose among all processes. */
	if (!o->pid_cnt && !o->command && !filter_is_empty(&o->filter))
		o->all = true;
	/* "record 1234" or "record -p 1234 5678": no program has a name like that. */
	if (o->command && !o->command[0][strspn(o->command[0], "0123456789")]) {
		if (o->pid_cnt)
			arguments_refuse(state, "several processes are one word: -p %d,%s",
					 o->pids[o->pid_cnt - 1], o->command[0]);
		arguments_refuse(state, "%s is not a command; to record a process, use -p %s",
				 o->command[0], o->command[0]);
	}
	/* All that there is for who has asked a broker. */
	if (own_only() && o->all) {
		o->filter.users[0] = getuid();
		o->filter.user_cnt = 1;
	}
	if (!o->all && !o->pid_cnt && !o->command)
		arguments_refuse(state, "nothing to record: use -a, -p PID or -- COMMAND");
	if (!o->all && !filter_is_empty(&o->filter))
		arguments_refuse(
			state,
			"--name, --cgroup and --user choose among all processes: use them without -p and without a command");
	/* As in perf a command beside them is how long they are recorded. */
	if (o->all && o->pid_cnt)
		arguments_refuse(state, "choose one of -a and -p");
}

/* ---- where nothing fits ----------------------------------------------------------------------- */

/* Prints what was requested: "--name wl --cgroup /system.slice --user 1000". */
static void put_filter(FILE *out, const struct filter *f)
{
	const char *blank = "";

	for (size_t i = 0; i < f->name_cnt; i++, blank = " ")
		fprintf(out, "%s--name %s", blank, f->names[i]);
	for (size_t i = 0; i < f->cgroup_cnt; i++, blank = " ")
		fprintf(out, "%s--cgroup %s", blank, f->cgroups[i]);
	for (size_t i = 0; i < f->user_cnt; i++, blank = " ")
		fprintf(out, "%s--user %u", blank, f->users[i]);
}

/* Returns the first name without wildcards, since users often mean part of a name; NULL: none. */
static const char *whole_name(const struct filter *f)
{
	for (size_t i = 0; i < f->name_cnt; i++) {
		if (!strpbrk(f->names[i], "*?["))
			return f->names[i];
	}
	return NULL;
}

static void put_no_process(FILE *out, const struct record_options *o, unsigned unwanted)
{
	const char *whole = whole_name(&o->filter);

	if (filter_is_empty(&o->filter)) {
		fputs("no Python process ran during the recording (krait list shows what runs now)",
		      out);
		return;
	}
	if (unwanted)
		fprintf(out, "%u Python process%s ran during the recording, %s with ", unwanted,
			unwanted == 1 ? "" : "es", unwanted == 1 ? "but not" : "none");
	else
		fputs("no Python process ran during the recording, with or without ", out);
	put_filter(out, &o->filter);
	if (unwanted && whole)
		fprintf(out, " (--name '*%s*' takes parts of names, too)", whole);
}

/* Those that did not run have no samples, whatever they are called. */
static void put_no_thread(FILE *out, const struct record_options *o, const char *there)
{
	char given[128];

	thread_filter_say(&o->thread, given, sizeof(given));
	fprintf(out, "no thread that ran matches %s (those that ran: %s)", given, there);
}

void record_targets_explain(char buf[RECORD_TARGETS_TEXT], const struct record_options *o,
			    const struct record_nothing *there)
{
	FILE *out = fmemopen(buf, RECORD_TARGETS_TEXT - 1, "w");

	memset(buf, 0, RECORD_TARGETS_TEXT);
	if (!out)
		return;
	if (!there->processes)
		put_no_process(out, o, there->unwanted);
	else if (*there->threads)
		put_no_thread(out, o, there->threads);
	else if (o->event_cnt <= 1 && (!o->event_cnt || event_is_clock(&o->events[0])))
		fputs("the processes used no CPU time; krait record --wall shows what they wait for",
		      out);
	else
		fputs("the processes had none of these events", out);
	fclose(out);
}

void record_targets_explain_session(char buf[RECORD_TARGETS_TEXT], const struct record_options *o,
				    const struct session *session)
{
	struct record_nothing there;
	struct session_stats stats;
	char threads[320];

	session__stats(session, &stats);
	session__say_unwanted(session, threads, sizeof(threads));
	there = (struct record_nothing){ stats.processes, stats.unwanted, threads };
	record_targets_explain(buf, o, &there);
}
