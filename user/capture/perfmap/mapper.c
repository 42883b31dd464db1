/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/perfmap/mapper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/perfmap/mapper_protocol.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/worker/channel.h"
#include "base/worker/worker.h"

/*
 * The worker reports its own children's timeouts; this one is for a worker that does not answer at
 * all.
 */
#define ANSWER_MS (2 * MAPPER_MS)

struct mapper {
	struct worker *worker;
	__u32 number; /* of the latest request */
};

struct mapper *mapper__new(struct error *err)
{
	struct mapper *m = calloc(1, sizeof(*m));

	if (!m) {
		error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
		return NULL;
	}
	m->worker = worker__start("mapper", err);
	if (m->worker)
		return m;
	free(m);
	return NULL;
}

void mapper__free(struct mapper *m)
{
	if (!m)
		return;
	worker__abandon(m->worker);
	free(m);
}

static int take_answer(const struct mapper_answer *a, ssize_t n)
{
	if (n < 0)
		return (int)n;
	return a->error > 0 ? -EPROTO : a->error;
}

int mapper__open(struct mapper *m, pid_t pid, __u64 start_ticks, const char *first_line,
		 char *ret_path, size_t size)
{
	struct mapper_request request = { .number = ++m->number,
					  .pid = pid,
					  .start_ticks = start_ticks };
	struct mapper_answer answer = { 0 };
	const struct channel_call call = {
		.request = &request,
		.len = sizeof(request),
		.answer = &answer,
		.size = sizeof(answer),
		.numbered = true,
		.timeout_ms = ANSWER_MS,
	};
	cleanup_close int fd = -1;
	int err;

	snprintf(request.first_line, sizeof(request.first_line), "%s", first_line);
	err = take_answer(&answer, channel_call(worker__fd(m->worker), &call, &fd));
	answer.path[sizeof(answer.path) - 1] = '\0';
	if (*answer.path)
		snprintf(ret_path, size, "%s", answer.path);
	else
		snprintf(ret_path, size, "/tmp/perf-%d.map", (int)pid);
	if (err)
		return err;
	return fd < 0 ? -EPROTO : take_fd(&fd);
}
