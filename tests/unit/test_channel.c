/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_channel.c - messages arrive whole with their descriptors, or are refused without a trace.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/types.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/worker/channel.h"

struct pair {
	int ours, theirs;
};

static int setup(void **state)
{
	static struct pair p;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds))
		return -1;
	p = (struct pair){ fds[0], fds[1] };
	*state = &p;
	return 0;
}

static int teardown(void **state)
{
	struct pair *p = *state;

	close(p->ours);
	if (p->theirs >= 0)
		close(p->theirs);
	return 0;
}

static unsigned count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned cnt = 0;

	assert_non_null(dir);
	while (readdir(dir))
		cnt++;
	closedir(dir);
	return cnt;
}

static void a_message_arrives_whole(void **state)
{
	struct pair *p = *state;
	static char big[CHANNEL_MAX], got[CHANNEL_MAX + 1];

	memset(big, 'x', sizeof(big));
	big[0] = 'a';
	big[sizeof(big) - 1] = 'z';
	assert_int_equal(channel_send(p->ours, big, sizeof(big), NULL, 0), 0);
	assert_int_equal(channel_send(p->ours, "b", 1, NULL, 0), 0);
	assert_int_equal(channel_recv(p->theirs, got, sizeof(got), NULL, NULL, 0), sizeof(big));
	assert_memory_equal(got, big, sizeof(big));
	assert_int_equal(channel_recv(p->theirs, got, sizeof(got), NULL, NULL, 0), 1);
	assert_int_equal(got[0], 'b');
}

static void what_is_no_message_is_not_sent(void **state)
{
	struct pair *p = *state;
	static char big[CHANNEL_MAX + 1];
	int fds[CHANNEL_FDS_MAX + 1] = { 0 };

	assert_int_equal(channel_send(p->ours, big, sizeof(big), NULL, 0), -EINVAL);
	assert_int_equal(channel_send(p->ours, big, 0, NULL, 0), -EINVAL);
	assert_int_equal(channel_send(p->ours, big, 1, fds, CHANNEL_FDS_MAX + 1), -EINVAL);
	assert_int_equal(channel_recv(p->theirs, big, sizeof(big), NULL, NULL, 0), -ETIMEDOUT);
}

static void descriptors_arrive_and_are_close_on_exec(void **state)
{
	struct pair *p = *state;
	int pipes[2], fds[CHANNEL_FDS_MAX];
	unsigned cnt = CHANNEL_FDS_MAX;
	char byte;

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(channel_send(p->ours, "m", 1, pipes, 2), 0);
	assert_int_equal(channel_recv(p->theirs, &byte, 1, fds, &cnt, 0), 1);
	assert_int_equal(cnt, 2);
	assert_int_equal(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(write(fds[1], "y", 1), 1);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	assert_int_equal(byte, 'y');
	for (int i = 0; i < 2; i++) {
		close(pipes[i]);
		close(fds[i]);
	}
}

static void as_many_descriptors_as_there_may_be_arrive(void **state)
{
	struct pair *p = *state;
	int fds[CHANNEL_FDS_MAX] = { 0 }, got[CHANNEL_FDS_MAX];
	unsigned cnt = CHANNEL_FDS_MAX;
	char byte;

	assert_int_equal(channel_send(p->ours, "m", 1, fds, CHANNEL_FDS_MAX), 0);
	assert_int_equal(channel_recv(p->theirs, &byte, 1, got, &cnt, 0), 1);
	assert_int_equal(cnt, CHANNEL_FDS_MAX);
	for (unsigned i = 0; i < cnt; i++)
		close(got[i]);
}

static void a_message_too_long_is_dropped_with_its_descriptors(void **state)
{
	struct pair *p = *state;
	unsigned before, cnt = CHANNEL_FDS_MAX;
	int fds[CHANNEL_FDS_MAX] = { 0 }, got[CHANNEL_FDS_MAX];
	char buf[4];

	before = count_fds();
	assert_int_equal(channel_send(p->ours, "12345", 5, fds, 3), 0);
	assert_int_equal(channel_recv(p->theirs, buf, sizeof(buf), got, &cnt, 0), -EMSGSIZE);
	assert_int_equal(cnt, 0);
	assert_int_equal(count_fds(), before);
	/* The next message is unaffected. */
	assert_int_equal(channel_send(p->ours, "1234", 4, NULL, 0), 0);
	assert_int_equal(channel_recv(p->theirs, buf, sizeof(buf), NULL, NULL, 0), 4);
}

static void descriptors_that_nobody_asked_for_are_closed(void **state)
{
	struct pair *p = *state;
	unsigned before = count_fds(), cnt = 1;
	int fds[2] = { 0, 0 }, got[1];
	char byte;

	assert_int_equal(channel_send(p->ours, "m", 1, fds, 2), 0);
	assert_int_equal(channel_recv(p->theirs, &byte, 1, got, &cnt, 0), -EPROTO);
	assert_int_equal(cnt, 0);
	assert_int_equal(channel_send(p->ours, "m", 1, fds, 1), 0);
	assert_int_equal(channel_recv(p->theirs, &byte, 1, NULL, NULL, 0), -EPROTO);
	assert_int_equal(count_fds(), before);
}

static void an_empty_message_counts_as_the_end(void **state)
{
	struct pair *p = *state;
	char byte;

	assert_int_equal(send(p->ours, "", 0, 0), 0);
	assert_int_equal(channel_recv(p->theirs, &byte, 1, NULL, NULL, 0), -EPIPE);
}

static void a_peer_that_is_gone_is_an_error_and_no_signal(void **state)
{
	struct pair *p = *state;
	char byte;

	signal(SIGPIPE, SIG_DFL);
	close(p->theirs);
	p->theirs = -1;
	assert_int_equal(channel_send(p->ours, "m", 1, NULL, 0), -EPIPE);
	assert_int_equal(channel_recv(p->ours, &byte, 1, NULL, NULL, -1), -EPIPE);
}

static void what_was_sent_before_the_end_is_still_read(void **state)
{
	struct pair *p = *state;
	char byte;

	assert_int_equal(channel_send(p->theirs, "m", 1, NULL, 0), 0);
	close(p->theirs);
	p->theirs = -1;
	assert_int_equal(channel_recv(p->ours, &byte, 1, NULL, NULL, -1), 1);
	assert_int_equal(channel_recv(p->ours, &byte, 1, NULL, NULL, -1), -EPIPE);
}

static void a_peer_that_does_not_read_is_not_waited_for(void **state)
{
	static char big[CHANNEL_MAX];
	struct pair *p = *state;
	int r = 0;

	for (int i = 0; i < 1000 && !r; i++)
		r = channel_send(p->ours, big, sizeof(big), NULL, 0);
	assert_int_equal(r, -EAGAIN);
}

struct numbered {
	__u32 number;
	char text[4];
};

static void a_message_of_another_size_is_refused_with_its_descriptor(void **state)
{
	struct pair *p = *state;
	const unsigned before = count_fds();
	char two[2];
	int fd = 7, own = STDERR_FILENO;

	assert_int_equal(channel_send(p->theirs, "m", 1, &own, 1), 0);
	assert_int_equal(channel_take(p->ours, two, 2, &fd, 0), -EPROTO);
	assert_int_equal(fd, -1);
	assert_int_equal(count_fds(), before);
	assert_int_equal(channel_send(p->theirs, "mn", 2, NULL, 0), 0);
	assert_int_equal(channel_take(p->ours, two, 2, &fd, 0), 0);
	assert_int_equal(fd, -1);
	assert_memory_equal(two, "mn", 2);
	assert_int_equal(channel_take(p->ours, two, 2, &fd, 0), -ETIMEDOUT);
}

static void answers_to_earlier_requests_are_passed_over(void **state)
{
	struct pair *p = *state;
	const unsigned before = count_fds();
	const struct numbered request = { 2, "ask" };
	struct numbered answer, seen;
	const struct channel_call call = {
		.request = &request,
		.len = sizeof(request),
		.answer = &answer,
		.size = sizeof(answer),
		.numbered = true,
		.timeout_ms = 20,
	};
	int fd, own = STDERR_FILENO;

	assert_int_equal(channel_send(p->theirs, &(struct numbered){ 1, "old" }, 8, &own, 1), 0);
	assert_int_equal(channel_send(p->theirs, "x", 1, NULL, 0), 0);
	assert_int_equal(channel_call(p->ours, &call, &fd), -ETIMEDOUT);
	assert_int_equal(fd, -1);
	assert_int_equal(count_fds(), before);
	assert_int_equal(channel_send(p->theirs, &(struct numbered){ 1, "old" }, 8, &own, 1), 0);
	assert_int_equal(channel_send(p->theirs, &(struct numbered){ 2, "new" }, 8, &own, 1), 0);
	assert_int_equal(channel_call(p->ours, &call, &fd), sizeof(answer));
	assert_string_equal(answer.text, "new");
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(count_fds(), before);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(channel_take(p->theirs, &seen, sizeof(seen), NULL, 0), 0);
		assert_string_equal(seen.text, "ask");
	}
}

static void an_answer_has_the_length_that_it_may_have(void **state)
{
	struct pair *p = *state;
	char answer[4];
	struct channel_call call = { .request = "q", .len = 1, .answer = answer, .size = 4 };

	assert_int_equal(channel_send(p->theirs, "abc", 3, NULL, 0), 0);
	assert_int_equal(channel_call(p->ours, &call, NULL), -EPROTO);
	call.least = 2;
	assert_int_equal(channel_send(p->theirs, "abc", 3, NULL, 0), 0);
	assert_int_equal(channel_call(p->ours, &call, NULL), 3);
	assert_int_equal(channel_send(p->theirs, "a", 1, NULL, 0), 0);
	assert_int_equal(channel_call(p->ours, &call, NULL), -EPROTO);
	assert_int_equal(channel_send(p->theirs, "abcde", 5, NULL, 0), 0);
	assert_int_equal(channel_call(p->ours, &call, NULL), -EMSGSIZE);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(a_message_arrives_whole),
		CASE(what_is_no_message_is_not_sent),
		CASE(descriptors_arrive_and_are_close_on_exec),
		CASE(as_many_descriptors_as_there_may_be_arrive),
		CASE(a_message_too_long_is_dropped_with_its_descriptors),
		CASE(descriptors_that_nobody_asked_for_are_closed),
		CASE(an_empty_message_counts_as_the_end),
		CASE(a_peer_that_is_gone_is_an_error_and_no_signal),
		CASE(what_was_sent_before_the_end_is_still_read),
		CASE(a_peer_that_does_not_read_is_not_waited_for),
		CASE(a_message_of_another_size_is_refused_with_its_descriptor),
		CASE(answers_to_earlier_requests_are_passed_over),
		CASE(an_answer_has_the_length_that_it_may_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
