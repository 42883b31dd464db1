/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/record_targets.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "target/cgroup.h"
#include "util/error.h"

#define PID_BLANKS " \t\n"

void record_targets_pids(struct record_options *o, const char *text, struct argp_state *state)
{
	/* Blanks and ends of lines, too: that is what pgrep and pidof print. */
	text += strspn(text, PID_BLANKS);
	if (!*text)
		argp_error(state, "-p takes process ids, such as 1234 or 12,34: it got none");
	while (*text) {
		char *end;
		long pid = strtol(text, &end, 10);

		if (end == text || pid <= 0 || pid > 4194304 ||
		    (*end && !strchr("," PID_BLANKS, *end)))
			argp_error(state, "-p takes process ids, such as 1234 or 12,34: \"%s\"",
				   text);
		if (o->pid_cnt == RECORD_MAX_PIDS)
			argp_error(state, "more than %d processes; use -a", RECORD_MAX_PIDS);
		o->pids[o->pid_cnt++] = (pid_t)pid;
		text = *end ? end + 1 : end;
		text += strspn(text, PID_BLANKS);
	}
}

static void add_filter(const char *list[FILTER_MAX], size_t *cnt, const char *text,
		       struct argp_state *state)
{
	if (!*text)
		argp_error(state, "--name and --cgroup take a pattern and a path, not nothing");
	if (*cnt == FILTER_MAX)
		argp_error(state, "more than %d filters of a kind", FILTER_MAX);
	list[(*cnt)++] = text;
}

void record_targets_name(struct record_options *o, const char *text, struct argp_state *state)
{
	add_filter(o->filter.names, &o->filter.name_cnt, text, state);
}

void record_targets_cgroup(struct record_options *o, const char *text, struct argp_state *state)
{
	const char *path = cgroup_find(text, "/proc/self/mounts");

	if (*text && !path)
		argp_failure(state, EXIT_CODE_TARGET, 0,
			     "there is no control group \"%s\" (systemd-cgls, or the folders below "
			     "/sys/fs/cgroup, show which there are)",
			     text);
	/* The root of a hierarchy. */
	if (*text && !*path)
		path = "/";
	add_filter(o->filter.cgroups, &o->filter.cgroup_cnt, *text ? path : text, state);
}

void record_targets_user(struct record_options *o, const char *text, struct argp_state *state)
{
	struct filter *f = &o->filter;
	const struct passwd *user = getpwnam(text);
	unsigned long uid = user ? user->pw_uid : 0;
	char *end = "";

	if (!user)
		uid = strtoul(text, &end, 10);
	if (!user && (*text < '0' || *text > '9' || *end || uid >= (uid_t)-1))
		argp_error(state, "there is no user \"%s\"", text);
	if (f->user_cnt == FILTER_MAX)
		argp_error(state, "more than %d users", FILTER_MAX);
	f->users[f->user_cnt++] = (uid_t)uid;
}

void record_targets_settle(struct record_options *o, struct argp_state *state)
{
	int targets;

	/* They choose among all. */
	if (!o->pid_cnt && !o->command && !filter_is_empty(&o->filter))
		o->all = true;
	/* "record 1234", "record -p 1234 5678": nobody has a program of that name. */
	if (o->command && !o->command[0][strspn(o->command[0], "0123456789")])
		argp_error(state, "%s is a process, not a command: did you mean -p %s%s?",
			   o->command[0], o->pid_cnt ? "PID," : "", o->command[0]);
	targets = o->all + (o->pid_cnt > 0) + (o->command != NULL);

	if (targets == 0)
		argp_error(state, "nothing to record: use -a, -p PID or -- COMMAND");
	if (!o->all && !filter_is_empty(&o->filter))
		argp_error(
			state,
			"--name, --cgroup and --user choose among all; not with -p or a command");
	if (targets > 1)
		argp_error(state, "-a, -p and a command exclude each other");
}
