/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/thread_filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* TASK_COMM_LEN, include/linux/sched.h, without its end. */
#define KERNEL_NAME 15
/* PID_MAX_LIMIT, include/linux/threads.h. */
#define TID_MAX (4 * 1024 * 1024)

int thread_filter_parse(struct thread_filter *ret, const char *text)
{
	bool number = *text && text[strspn(text, "0123456789")] == '\0';
	long tid = number ? strtol(text, NULL, 10) : 0;

	*ret = (struct thread_filter){ 0 };
	if (!*text || (number && (tid <= 0 || tid > TID_MAX)))
		return -EINVAL;
	if (!strcmp(text, "main"))
		ret->main = true;
	else if (number)
		ret->tid = (int)tid;
	else
		ret->name = text;
	return 0;
}

bool thread_filter_is_empty(const struct thread_filter *f)
{
	return !f->name && !f->tid && !f->main;
}

bool thread_filter_wants(const struct thread_filter *f, int pid, int tid, const char *name)
{
	if (f->main && pid != tid)
		return false;
	if (f->tid && f->tid != tid)
		return false;
	if (!f->name || !fnmatch(f->name, name, 0))
		return true;
	return strlen(f->name) > KERNEL_NAME && strlen(name) == KERNEL_NAME &&
	       !strncmp(f->name, name, KERNEL_NAME);
}
