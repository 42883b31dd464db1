/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/core/core.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "process/probe/probe_list.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/worker/channel.h"
#include "base/worker/worker.h"

/*
 * Time limit for one answer. Listing threads with their variables takes long if the core is on a
 * slow disk.
 */
#define ANSWER_MS 60000
/* Messages in a list. */
#define PARTS_MAX 4096

struct core {
	struct worker *worker;
	struct memory memory;
	struct core_answer answer;
};

static int read_memory(void *ctx, __u64 addr, void *buf, size_t len);

struct core *core__new(struct error *err)
{
	struct core *c = calloc(1, sizeof(*c));

	if (!c) {
		error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
		return NULL;
	}
	c->memory = (struct memory){ .read = read_memory, .ctx = c };
	c->worker = worker__start("core", err);
	if (c->worker)
		return c;
	free(c);
	return NULL;
}

void core__free(struct core *c)
{
	if (!c)
		return;
	worker__abandon(c->worker);
	free(c);
}

#define HEAD_SIZE offsetof(struct core_answer, bytes)

/* Checks that the answer is complete. Bytes that were not sent are not looked at, then or later. */
static int take_answer(struct core *c, ssize_t n)
{
	bool fine = n >= (ssize_t)HEAD_SIZE && c->answer.len == (size_t)n - HEAD_SIZE &&
		    c->answer.result <= 0;

	if (fine)
		return c->answer.result;
	c->answer.len = 0;
	return n < 0 ? (int)n : -EPROTO;
}

static int call(struct core *c, const struct core_request *r, int fd)
{
	const struct channel_call call = {
		.request = r,
		.len = sizeof(*r),
		.fds = &fd,
		.fd_cnt = fd >= 0,
		.answer = &c->answer,
		.size = sizeof(c->answer),
		.least = HEAD_SIZE,
		.timeout_ms = ANSWER_MS,
	};

	c->answer.len = 0;
	return take_answer(c, channel_call(worker__fd(c->worker), &call, NULL));
}

static int say_why(const struct core *c, int err, char *why, size_t size)
{
	if (c->answer.len && memchr(c->answer.bytes, 0, c->answer.len))
		snprintf(why, size, "%s", c->answer.bytes);
	else
		snprintf(
			why, size, "%s",
			err == -EPIPE ?
				"reading it failed: it takes more memory or time than krait allows" :
				strerror(-err));
	return err;
}

int core__open(struct core *c, int fd, struct core_facts *ret, char *why, size_t why_size)
{
	int err = call(c, &(const struct core_request){ .op = CORE_OPEN }, fd);

	if (!err && c->answer.len != sizeof(*ret))
		err = -EPROTO;
	if (err)
		return say_why(c, err, why, why_size);
	*ret = c->answer.facts;
	ret->comm[sizeof(ret->comm) - 1] = '\0';
	return 0;
}

char *core__file_name(struct core *c, __u32 file)
{
	const struct core_request r = { .op = CORE_NAME, .number = file };

	if (call(c, &r, -1) || !c->answer.len || c->answer.bytes[c->answer.len - 1])
		return NULL;
	return strdup(c->answer.bytes);
}

int core__give(struct core *c, __u32 file, int fd)
{
	return call(c, &(const struct core_request){ .op = CORE_GIVE, .number = file }, fd);
}

int core__python(struct core *c, struct core_python *ret, char *why, size_t why_size)
{
	int err = call(c, &(const struct core_request){ .op = CORE_PYTHON }, -1);

	if (!err && c->answer.len != sizeof(*ret))
		err = -EPROTO;
	if (err)
		return say_why(c, err, why, why_size);
	*ret = c->answer.python;
	ret->file[sizeof(ret->file) - 1] = '\0';
	return 0;
}

static int read_memory(void *ctx, __u64 addr, void *buf, size_t len)
{
	struct core *c = ctx;

	for (size_t done = 0; done < len;) {
		size_t part = len - done < CORE_PART_MAX ? len - done : CORE_PART_MAX;
		const struct core_request r = { .op = CORE_READ,
						.addr = addr + done,
						.len = (__u32)part };

		if (call(c, &r, -1) || c->answer.len != part)
			return -EFAULT;
		memcpy((char *)buf + done, c->answer.bytes, part);
		done += part;
	}
	return 0;
}

int core__code(struct core *c, __u32 *at, const struct core_mapping **ret)
{
	const struct core_request r = { .op = CORE_CODE, .number = *at };
	int err = call(c, &r, -1);

	if (err)
		return err;
	if (c->answer.len % sizeof(**ret) || (c->answer.len && c->answer.next <= *at))
		return -EPROTO;
	*at = c->answer.next;
	*ret = c->answer.code;
	return (int)(c->answer.len / sizeof(**ret));
}

const struct memory *core__memory(const struct core *c)
{
	return &c->memory;
}

int core__threads(struct core *c, const struct probe_threads_ask *ask, struct probe_threads *ret)
{
	cleanup_close int fd = memfd_create("krait-threads", MFD_CLOEXEC);
	const struct core_request r = { .op = CORE_THREADS, .ask = *ask };
	int err = fd < 0 ? -errno : call(c, &r, -1);

	*ret = (struct probe_threads){ 0 };
	for (int i = 0; !err; i++) {
		err = i == PARTS_MAX ? -EPROTO :
				       probe_list_write(fd, c->answer.bytes, c->answer.len);
		if (err || !c->answer.more)
			break;
		err = take_answer(c, channel_recv(worker__fd(c->worker), &c->answer,
						  sizeof(c->answer), NULL, NULL, ANSWER_MS));
	}
	return err ? err : probe_threads_read(fd, ret);
}
