/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * core_serve.c - the role "core": one core file, read by a process that can do nothing else.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "look/core/core_protocol.h"
#include "look/core/core_threads.h"
#include "base/worker/channel.h"
#include "base/worker/sandbox.h"

static const struct sandbox_limits limits = {
	.memory = 2ULL << 30,
	.cpu_seconds = 120,
	.fds = CORE_FILES_MAX + 64,
};

struct server {
	int channel;
	int core; /* -1: none */
	struct core_file file;
	struct core_answer answer;
};

static int open_core(struct server *s, int *fd)
{
	struct core_facts *facts = &s->answer.facts;
	int err;

	if (*fd < 0 || s->core >= 0)
		return -EINVAL;
	err = core_file_open(&s->file, *fd, s->answer.bytes, 256);
	if (err) {
		s->answer.len = 256;
		return err;
	}
	s->core = *fd;
	*fd = -1;
	*facts = (struct core_facts){ .pid = s->file.pid,
				      .signal = s->file.threads[0].signal,
				      .file_cnt = s->file.file_cnt,
				      .thread_cnt = s->file.thread_cnt };
	memcpy(facts->comm, s->file.comm, sizeof(facts->comm));
	s->answer.len = sizeof(*facts);
	return 0;
}

static int name(struct server *s, __u32 number)
{
	if (number >= s->file.file_cnt)
		return -EINVAL;
	snprintf(s->answer.bytes, sizeof(s->answer.bytes), "%s", s->file.files[number].name);
	s->answer.len = (__u32)strlen(s->answer.bytes) + 1;
	return 0;
}

static int find_python(struct server *s)
{
	struct core_python python;
	char why[256];
	int err = core_python_find(&s->file, &python, why, sizeof(why));

	s->answer.len = err ? sizeof(why) : sizeof(python);
	if (err)
		memcpy(s->answer.bytes, why, sizeof(why));
	else
		s->answer.python = python;
	return err;
}

static int read_memory(struct server *s, const struct core_request *r)
{
	int err = r->len > CORE_PART_MAX ?
			  -EINVAL :
			  memory_read(&s->file.memory, r->addr, s->answer.bytes, r->len);

	s->answer.len = err ? 0 : r->len;
	return err;
}

static int send_answer(struct server *s)
{
	return channel_send(s->channel, &s->answer,
			    offsetof(struct core_answer, bytes) + s->answer.len, NULL, 0);
}

/* Sends the list whenever a part is full. */
static int send_part(void *ctx, const void *data, size_t len)
{
	struct server *s = ctx;

	while (len) {
		size_t room = CORE_PART_MAX - s->answer.len, part = len < room ? len : room;

		memcpy(s->answer.bytes + s->answer.len, data, part);
		s->answer.len += (__u32)part;
		data = (const char *)data + part;
		len -= part;
		if (s->answer.len < CORE_PART_MAX)
			continue;
		s->answer.more = 1;
		if (send_answer(s))
			return -EPIPE;
		s->answer.len = s->answer.more = 0;
	}
	return 0;
}

static int list_threads(struct server *s, const struct core_request *r)
{
	struct thread_stacks *stacks = thread_stacks__new(&r->ask, &s->file.memory);
	int err = stacks ? 0 : -ENOMEM;

	if (!err) {
		core_threads_fill(&s->file, &r->ask, stacks);
		err = thread_stacks__write(stacks, send_part, s);
	}
	thread_stacks__free(stacks);
	return err;
}

static int list_code(struct server *s, __u32 from)
{
	__u32 cnt;

	s->answer.next = from;
	cnt = core_file_code(&s->file, &s->answer.next, s->answer.code, CORE_CODE_MAX);
	s->answer.len = cnt * (__u32)sizeof(*s->answer.code);
	return 0;
}

static int answer(struct server *s, const struct core_request *r, int *fd)
{
	if (r->op == CORE_OPEN)
		return open_core(s, fd);
	if (s->core < 0)
		return -EINVAL;
	switch (r->op) {
	case CORE_NAME:
		return name(s, r->number);
	case CORE_GIVE:
		return *fd < 0 ? -EINVAL : core_file_give(&s->file, r->number, *fd);
	case CORE_PYTHON:
		return find_python(s);
	case CORE_READ:
		return read_memory(s, r);
	case CORE_THREADS:
		return list_threads(s, r);
	case CORE_CODE:
		return list_code(s, r->number);
	default:
		return -EINVAL;
	}
}

int core_serve(int channel_fd)
{
	static struct server s;
	struct core_request r;

	s.channel = channel_fd;
	s.core = -1;
	if (sandbox_enter(sandbox_room(), &limits))
		return 1;
	for (;;) {
		int fd, err = channel_take(channel_fd, &r, sizeof(r), &fd, -1);

		if (err)
			return err == -EPIPE ? 0 : 1;
		s.answer.len = s.answer.more = 0;
		s.answer.result = answer(&s, &r, &fd);
		if (fd >= 0)
			close(fd);
		if (send_answer(&s))
			return 1;
	}
}
