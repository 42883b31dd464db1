/* SPDX-License-Identifier: BSD-2-Clause */
#include "perfmap/mapper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perfmap/mapper_protocol.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/error.h"
#include "worker/channel.h"
#include "worker/worker.h"

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

/* Takes answers until the one to the latest request. Returns a descriptor or -errno. */
static int await(struct mapper *m, struct mapper_answer *answer)
{
	const __u64 end_ns = clock_monotonic_ns() + ANSWER_MS * NS_PER_MS;

	for (;;) {
		__u64 now_ns = clock_monotonic_ns();
		cleanup_close int fd = -1;
		unsigned cnt = 1;
		ssize_t n;

		if (now_ns >= end_ns)
			return -ETIMEDOUT;
		n = channel_recv(worker__fd(m->worker), answer, sizeof(*answer), &fd, &cnt,
				 (int)((end_ns - now_ns) / NS_PER_MS) + 1);
		if (n < 0)
			return (int)n;
		if (!cnt)
			fd = -1;
		if (n != sizeof(*answer) || answer->number != m->number)
			continue;
		if (answer->error)
			return answer->error < 0 ? answer->error : -EPROTO;
		return fd < 0 ? -EPROTO : take_fd(&fd);
	}
}

int mapper__open(struct mapper *m, pid_t pid, __u64 start_ticks, const char *first_line,
		 char *ret_path, size_t size)
{
	struct mapper_request request = { .number = ++m->number,
					  .pid = pid,
					  .start_ticks = start_ticks };
	struct mapper_answer answer = { 0 };
	int fd;

	snprintf(request.first_line, sizeof(request.first_line), "%s", first_line);
	fd = channel_send(worker__fd(m->worker), &request, sizeof(request), NULL, 0);
	if (!fd)
		fd = await(m, &answer);
	answer.path[sizeof(answer.path) - 1] = '\0';
	if (*answer.path)
		snprintf(ret_path, size, "%s", answer.path);
	else
		snprintf(ret_path, size, "/tmp/perf-%d.map", (int)pid);
	return fd;
}
