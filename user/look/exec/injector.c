/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/exec/injector.h"

#include <stdio.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/worker/channel.h"
#include "base/worker/worker.h"

/* The injector reports its own timeouts; this one is for an injector that does not answer at all. */
#define ANSWER_MS 15000

static int call(struct worker *injector, const struct inject_request *r, const int *fds,
		unsigned fd_cnt, struct inject_answer *ret, int *ret_fd)
{
	const struct channel_call call = {
		.request = r,
		.len = sizeof(*r),
		.fds = fds,
		.fd_cnt = fd_cnt,
		.answer = ret,
		.size = sizeof(*ret),
		.timeout_ms = ANSWER_MS,
	};
	cleanup_close int fd = -1;
	ssize_t n = channel_call(worker__fd(injector), &call, &fd);

	if (n < 0) {
		*ret = (struct inject_answer){ .result = (__s32)n };
		snprintf(ret->why, sizeof(ret->why), "reading it hangs: %s",
			 strerror(-ret->result));
		return ret->result;
	}
	ret->why[sizeof(ret->why) - 1] = ret->path[sizeof(ret->path) - 1] = '\0';
	if (ret_fd && !ret->result)
		*ret_fd = take_fd(&fd);
	return ret->result;
}

int injector__ask(struct worker *injector, const struct inject_request *r, int dir, int mem,
		  int script, struct inject_answer *ret, int *ret_report)
{
	const int fds[] = { dir, mem, script };

	*ret_report = -1;
	return call(injector, r, fds, 3, ret, ret_report);
}

int injector__withdraw(struct worker *injector, struct inject_answer *ret)
{
	return call(injector, &(const struct inject_request){ .op = INJECT_WITHDRAW }, NULL, 0, ret,
		    NULL);
}

int injector__remove(struct worker *injector)
{
	struct inject_answer answer;

	return call(injector, &(const struct inject_request){ .op = INJECT_REMOVE }, NULL, 0,
		    &answer, NULL);
}
