/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_keeper.c - user/base/worker/keeper.c: what a reader asks, what comes back, and what it does without a keeper.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/data/cleanup.h"
#include "base/worker/channel.h"
#include "base/worker/keeper.h"

#define HERE "/proc/self/exe"

/* Gives out /dev/null for what is called "there"; answers 7 requests. */
static void keep(int channel)
{
	struct keeper_request r;
	int sent = -1;

	for (int i = 0; i < 7 && !channel_take(channel, &r, sizeof(r), &sent, -1); i++) {
		const bool is_there = !strcmp(r.path, "there");
		struct keeper_answer answer = { .result = is_there ? 0 : -ENOENT,
						.number = r.number };
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		strcpy(answer.name, sent >= 0 ? "with a descriptor" : "");
		if (channel_send(channel, &answer, sizeof(answer), &fd,
				 is_there && r.job != KEEPER_IS_CAPTURE))
			_exit(1);
		close(fd);
		cleanup_close_(&sent);
	}
	_exit(0);
}

static void a_reader_gets_what_its_keeper_gives(void **state)
{
	struct keeper_request request = { .job = KEEPER_OBJECT, .number = 5, .path = "there" };
	struct keeper_answer answer;
	char long_path[PATH_MAX + 1];
	int fds[2], fd = -1, status;
	pid_t pid;

	assert_false(keeper_is_there());
	fd = keeper_open_named(HERE, O_RDONLY);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(keeper_open_named("/nonexistent", O_RDONLY), -ENOENT);

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	pid = fork();
	if (!pid)
		keep(fds[1]);
	close(fds[1]);
	keeper_set(fds[0]);
	assert_true(keeper_is_there());
	assert_int_equal(keeper_ask_about(KEEPER_IS_CAPTURE, "there"), 0);
	assert_int_equal(keeper_ask_about(KEEPER_IS_CAPTURE, "nowhere"), -ENOENT);
	fd = keeper_open(KEEPER_OBJECT, "there");
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(keeper_open(KEEPER_OBJECT, "nowhere"), -ENOENT);
	/* It opens nothing itself any more. */
	assert_int_equal(keeper_open_named(HERE, O_RDONLY), -ENOENT);
	fd = keeper_open_named("there", O_RDONLY);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(keeper_ask(&request, STDIN_FILENO, &answer, &fd), 0);
	assert_int_equal(answer.number, 5);
	assert_string_equal(answer.name, "with a descriptor");
	assert_true(fd >= 0);
	close(fd);
	memset(long_path, 'x', PATH_MAX);
	long_path[PATH_MAX] = '\0';
	assert_int_equal(keeper_open(KEEPER_OBJECT, long_path), -ENAMETOOLONG);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* It has ended. */
	assert_true(keeper_ask_about(KEEPER_IS_CAPTURE, "there") < 0);
	keeper_set(-1);
	close(fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_gets_what_its_keeper_gives),
	};

	return cmocka_run_group_tests_name("base/worker/keeper", tests, NULL, NULL);
}
