/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/worker/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/worker/channel.h"

/* One for the process: whatever it opens, its rights are the same. */
static int keeper = -1;

void keeper_set(int fd)
{
	keeper = fd;
}

bool keeper_is_there(void)
{
	return keeper >= 0;
}

int keeper_ask(const struct keeper_request *request, int fd, struct keeper_answer *ret, int *ret_fd)
{
	struct keeper_answer unused;
	const struct channel_call call = {
		.request = request,
		.len = sizeof(*request),
		.fds = &fd,
		.fd_cnt = fd >= 0,
		.answer = ret ? ret : &unused,
		.size = sizeof(*ret),
		.timeout_ms = -1,
	};
	ssize_t n = channel_call(keeper, &call, ret_fd);

	return n < 0 ? (int)n : ((struct keeper_answer *)call.answer)->result;
}

static int ask_path(enum keeper_job job, const char *path, int number, int *ret_fd)
{
	struct keeper_request request = { .job = job, .number = (__u32)number };

	if (strlen(path) >= sizeof(request.path))
		return -ENAMETOOLONG;
	strcpy(request.path, path);
	return keeper_ask(&request, -1, NULL, ret_fd);
}

int keeper_ask_about(enum keeper_job job, const char *path)
{
	return ask_path(job, path, 0, NULL);
}

int keeper_open(enum keeper_job job, const char *path)
{
	int fd, err = ask_path(job, path, 0, &fd);

	return err ? err : fd;
}

int keeper_open_named(const char *path, int flags)
{
	int fd;

	if (keeper_is_there()) {
		int err = ask_path(KEEPER_NAMED, path, flags, &fd);

		return err ? err : fd;
	}
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
