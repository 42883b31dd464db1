/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/thread_filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/pattern.h"

/* TASK_COMM_LEN, include/linux/sched.h, without the NUL. */
#define KERNEL_NAME 15
/* PID_MAX_LIMIT, include/linux/threads.h. */
#define TID_MAX (4 * 1024 * 1024)

/* "Dummy-3": what threading calls the third thread that it has not started. */
static bool is_numbered(const char *name)
{
	static const char prefix[] = "Dummy-";

	return !strncmp(name, prefix, sizeof(prefix) - 1) && name[sizeof(prefix) - 1] &&
	       !name[sizeof(prefix) - 1 + strspn(name + sizeof(prefix) - 1, "0123456789")];
}

const char *thread_name_shown(const char *name, const char *comm, const char *process_comm)
{
	if (!name || !*name || !strcmp(name, "MainThread") ||
	    (is_numbered(name) && strcmp(comm, process_comm)))
		return comm;
	return name;
}

int thread_filter_add(struct thread_filter *f, const char *text)
{
	bool number = *text && text[strspn(text, "0123456789")] == '\0';
	long tid = number ? strtol(text, NULL, 10) : 0;
	struct thread_choice new = { 0 };

	if (!*text || (number && (tid <= 0 || tid > TID_MAX)))
		return -EINVAL;
	if (f->cnt == THREAD_FILTER_MAX)
		return -E2BIG;
	if (!strcmp(text, "main") || !strcmp(text, "MainThread"))
		new.main = true;
	else if (number)
		new.tid = (int)tid;
	else
		new.name = text;
	f->list[f->cnt++] = new;
	return 0;
}

bool thread_filter_is_empty(const struct thread_filter *f)
{
	return !f->cnt;
}

bool thread_filter_has_names(const struct thread_filter *f)
{
	for (unsigned i = 0; i < f->cnt; i++)
		if (f->list[i].name)
			return true;
	return false;
}

void thread_filter_say(const struct thread_filter *f, char *buf, size_t size)
{
	size_t len = 0;

	*buf = '\0';
	for (unsigned i = 0; i < f->cnt && len < size; i++) {
		const struct thread_choice *c = &f->list[i];

		if (c->tid)
			len += (size_t)snprintf(buf + len, size - len, "%s--thread %d",
						i ? " " : "", c->tid);
		else
			len += (size_t)snprintf(buf + len, size - len, "%s--thread %s",
						i ? " " : "", c->main ? "main" : c->name);
	}
}

static bool has_name(const char *pattern, const char *name)
{
	return pattern_matches(pattern, PATTERN_EITHER, name) ||
	       (strlen(pattern) > KERNEL_NAME && strlen(name) == KERNEL_NAME &&
		!strncmp(pattern, name, KERNEL_NAME));
}

bool thread_filter_wants(const struct thread_filter *f, int pid, int tid, const char *name)
{
	for (unsigned i = 0; i < f->cnt; i++) {
		const struct thread_choice *c = &f->list[i];

		if ((c->main && pid == tid) || (c->tid && c->tid == tid) ||
		    (c->name && has_name(c->name, name)))
			return true;
	}
	return !f->cnt;
}
