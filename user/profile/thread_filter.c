/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/thread_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/pattern.h"

/* TASK_COMM_LEN, include/linux/sched.h, without the NUL. */
#define KERNEL_NAME 15
/* PID_MAX_LIMIT, include/linux/threads.h. */
#define TID_MAX (4 * 1024 * 1024)

int thread_filter_add(struct thread_filter *f, const char *text)
{
	bool number = *text && text[strspn(text, "0123456789")] == '\0';
	long tid = number ? strtol(text, NULL, 10) : 0;
	struct thread_choice new = { 0 };

	if (!*text || (number && (tid <= 0 || tid > TID_MAX)))
		return -EINVAL;
	if (f->cnt == THREAD_FILTER_MAX)
		return -E2BIG;
	if (!strcmp(text, "main"))
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
