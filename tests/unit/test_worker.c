/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_worker.c - a worker inherits nothing from us, answers, and is given up without waiting.
 *
 * This program is its own worker: main() dispatches as krait's does.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/worker/channel.h"
#include "base/worker/rights.h"
#include "base/worker/role.h"
#include "base/worker/worker.h"

#define PATIENCE_MS 10000

/* A worker's report on itself. */
struct self {
	int fds; /* open ones */
	int dumpable, no_new_privs, death_signal;
	pid_t session;
	uid_t uids[3];
	gid_t gids[3], group;
	int groups;
	__u64 rights;
	char name[16];
};

static int count_fds(void)
{
	int cnt = 0;

	for (int fd = 0; fd < 1024; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return cnt;
}

/* Echoes messages; answers "?" with its report, "!" by ending, and "z" not at all. */
static int serve_echo(int fd)
{
	char buf[256];
	ssize_t n;

	while ((n = channel_recv(fd, buf, sizeof(buf), NULL, NULL, -1)) > 0) {
		struct self self = {
			.fds = count_fds(),
			.dumpable = prctl(PR_GET_DUMPABLE),
			.no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
			.session = getsid(0),
			.rights = rights_effective(),
		};
		int r;

		getresuid(&self.uids[0], &self.uids[1], &self.uids[2]);
		getresgid(&self.gids[0], &self.gids[1], &self.gids[2]);
		self.groups = getgroups(1, &self.group);
		prctl(PR_GET_PDEATHSIG, &self.death_signal);
		prctl(PR_GET_NAME, self.name);
		if (buf[0] == '!')
			return 0;
		while (buf[0] == 'z')
			pause();
		r = buf[0] == '?' ? channel_send(fd, &self, sizeof(self), NULL, 0) :
				    channel_send(fd, buf, (size_t)n, NULL, 0);
		if (r)
			return 1;
	}
	return 0;
}

static int serve_nothing(int fd)
{
	return rights_keep(0) ? 1 : serve_echo(fd);
}

static const struct role test_roles[] = { { "echo", serve_echo }, { "nothing", serve_nothing } };

static struct worker *start(const char *role)
{
	struct error err;
	struct worker *w = worker__start(role, &err);

	assert_non_null(w);
	return w;
}

static void ask(struct worker *w, const char *what, void *ret, size_t size)
{
	assert_int_equal(channel_send(worker__fd(w), what, strlen(what), NULL, 0), 0);
	assert_int_equal(channel_recv(worker__fd(w), ret, size, NULL, NULL, PATIENCE_MS), size);
}

static bool exists(pid_t pid)
{
	return !kill(pid, 0);
}

static void wait_until_gone(pid_t pid)
{
	for (int i = 0; i < PATIENCE_MS && exists(pid); i++) {
		worker__dying();
		usleep(1000);
	}
	assert_false(exists(pid));
}

/* Waits for workers of earlier tests to end, so that counts are the caller's own. */
static void wait_until_none_dies(void)
{
	for (int i = 0; i < PATIENCE_MS && worker__dying(); i++)
		usleep(1000);
	assert_int_equal(worker__dying(), 0);
}

static void a_worker_answers(void **state)
{
	struct worker *w = start("echo");
	char got[5];

	ask(w, "hello", got, sizeof(got));
	assert_memory_equal(got, "hello", 5);
	worker__abandon(w);
}

static void a_worker_has_nothing_of_ours(void **state)
{
	int extra = open("/dev/null", O_RDONLY); /* without care it would be inherited */
	struct worker *w = start("echo");
	struct self self;

	ask(w, "?", &self, sizeof(self));
	assert_int_equal(self.fds, 4);
	assert_int_equal(self.dumpable, 0);
	assert_int_equal(self.no_new_privs, 1);
	assert_int_equal(self.death_signal, SIGKILL);
	assert_int_equal(self.session, worker__pid(w));
	assert_string_equal(self.name, "krait-echo");
	worker__abandon(w);
	close(extra);
}

static void a_worker_starts_where_standard_descriptors_are_closed(void **state)
{
	struct worker *w;
	struct self self;
	int in = dup(0), out = dup(1);

	close(0);
	close(1);
	w = start("echo");
	ask(w, "?", &self, sizeof(self));
	dup2(in, 0);
	dup2(out, 1);
	close(in);
	close(out);
	assert_int_equal(self.fds, 4);
	worker__abandon(w);
}

static void rights_are_dropped_for_good(void **state)
{
	struct worker *w = start("nothing");
	struct self self;

	ask(w, "?", &self, sizeof(self));
	assert_int_equal(self.rights, 0);
	worker__abandon(w);
}

static void an_abandoned_worker_is_not_waited_for(void **state)
{
	struct worker *w = start("echo");
	pid_t pid = worker__pid(w);
	__u64 begin_ns;

	wait_until_none_dies();
	assert_int_equal(channel_send(worker__fd(w), "z", 1, NULL, 0), 0);
	begin_ns = clock_monotonic_ns();
	worker__abandon(w);
	assert_true(clock_monotonic_ns() - begin_ns < NS_PER_SEC);
	wait_until_gone(pid);
	assert_int_equal(worker__dying(), 0);
}

/* Traces the worker: a tracer keeps a dead process from being reaped. */
static void hold(pid_t pid, int ready, int go)
{
	char byte = !ptrace(PTRACE_SEIZE, pid, NULL, NULL);

	_exit(write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1);
}

static void a_worker_that_cannot_end_is_counted(void **state)
{
	struct worker *w = start("echo");
	int ready[2], go[2];
	pid_t pid = worker__pid(w), holder;
	char held = 0;

	wait_until_none_dies();
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go), 0);
	holder = fork();
	if (!holder)
		hold(pid, ready[1], go[0]);
	assert_int_equal(read(ready[0], &held, 1), 1);
	worker__abandon(w);
	if (held) {
		usleep(20000);
		assert_int_equal(worker__dying(), 1);
		assert_true(exists(pid));
	} else {
		print_message("# skipped: no right to trace a worker\n");
	}
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(waitpid(holder, NULL, 0), holder);
	wait_until_gone(pid);
	assert_int_equal(worker__dying(), 0);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
}

static void the_death_of_a_worker_is_seen(void **state)
{
	struct worker *w = start("echo");
	char byte;

	assert_int_equal(channel_send(worker__fd(w), "!", 1, NULL, 0), 0);
	assert_int_equal(channel_recv(worker__fd(w), &byte, 1, NULL, NULL, PATIENCE_MS), -EPIPE);
	assert_int_equal(channel_send(worker__fd(w), "a", 1, NULL, 0), -EPIPE);
	worker__abandon(w);
}

static void an_unknown_role_ends_at_once(void **state)
{
	struct worker *w = start("no-such-role");
	char byte;

	assert_int_equal(channel_recv(worker__fd(w), &byte, 1, NULL, NULL, PATIENCE_MS), -EPIPE);
	worker__abandon(w);
}

static void *busy(void *end)
{
	while (!__atomic_load_n((int *)end, __ATOMIC_RELAXED))
		free(malloc(100));
	return NULL;
}

static void workers_start_while_other_threads_run(void **state)
{
	pthread_t threads[4];
	int end = 0;

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, busy, &end), 0);
	for (int i = 0; i < 20; i++)
		a_worker_answers(state);
	__atomic_store_n(&end, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* For a process that is not our child, which we cannot reap. */
static bool runs(pid_t pid)
{
	char path[64], letter = 'X';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &letter) != 1)
		letter = 'X';
	fclose(f);
	return letter != 'Z' && letter != 'X';
}

static void a_worker_ends_with_its_parent(void **state)
{
	pid_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = fork();
	char got[1];

	if (!child) {
		struct worker *w = start("echo");

		ask(w, "a", got, 1);
		if (channel_send(worker__fd(w), "z", 1, NULL, 0))
			_exit(1);
		*shared = worker__pid(w);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(*shared > 0);
	for (int i = 0; i < PATIENCE_MS && runs(*shared); i++)
		usleep(1000);
	assert_false(runs(*shared));
	munmap(shared, 4096);
}

/* A user who starts krait under a role's name. */
static void a_role_without_a_channel_does_nothing(void **state)
{
	pid_t child = fork();
	int status;

	if (!child) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, ROLE_CHANNEL_FD);
		execl("/proc/self/exe", "krait-echo", NULL);
		_exit(99);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
}

/* It is started with our ids, answers nobody before it has its own, and has nothing of ours then. */
static void a_worker_that_is_started_ahead_gets_ids(void **state)
{
	const struct rights_ids ids = { .uid = 64001,
					.gid = 64002,
					.group_cnt = 1,
					.groups = { 64003 },
					.set = RIGHTS_BIT(CAP_CHECKPOINT_RESTORE) };
	struct rights_ids many = ids;
	struct self self;
	struct worker *w;
	pid_t pid;

	if (geteuid())
		return;
	worker_start_ahead("echo", false);
	worker_start_ahead("nothing", false);
	worker_tell_ids(&ids, -1);
	w = start("echo");
	pid = worker__pid(w);
	ask(w, "?", &self, sizeof(self));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(self.uids[i], ids.uid);
		assert_int_equal(self.gids[i], ids.gid);
	}
	assert_int_equal(self.groups, 1);
	assert_int_equal(self.group, 64003);
	assert_int_equal(self.rights, ids.set);
	assert_int_equal(self.no_new_privs, 1);
	assert_int_equal(self.death_signal, SIGKILL);
#ifndef __SANITIZE_ADDRESS__
	assert_int_equal(self.dumpable, 0);
#endif
	worker__abandon(w);
	wait_until_gone(pid);
	/* Each is taken once. */
	w = start("echo");
	assert_int_not_equal(worker__pid(w), pid);
	ask(w, "?", &self, sizeof(self));
	assert_int_equal(self.uids[0], getuid());
	worker__abandon(w);
	w = start("nothing");
	ask(w, "?", &self, sizeof(self));
	assert_int_equal(self.uids[0], ids.uid);
	assert_int_equal(self.rights, 0);
	worker__abandon(w);
	/* More groups than there is room for are nobody's. */
	many.group_cnt = RIGHTS_GROUPS_MAX + 1;
	worker_start_ahead("echo", false);
	worker_tell_ids(&many, -1);
	w = start("echo");
	assert_int_equal(channel_recv(worker__fd(w), &self, sizeof(self), NULL, NULL, PATIENCE_MS),
			 -EPIPE);
	worker__abandon(w);
}

int main(int argc, char **argv)
{
	const struct role *role = role_find(test_roles, 2, argv[0]);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_answers),
		cmocka_unit_test(a_worker_has_nothing_of_ours),
		cmocka_unit_test(a_worker_starts_where_standard_descriptors_are_closed),
		cmocka_unit_test(rights_are_dropped_for_good),
		cmocka_unit_test(an_abandoned_worker_is_not_waited_for),
		cmocka_unit_test(a_worker_that_cannot_end_is_counted),
		cmocka_unit_test(the_death_of_a_worker_is_seen),
		cmocka_unit_test(an_unknown_role_ends_at_once),
		cmocka_unit_test(workers_start_while_other_threads_run),
		cmocka_unit_test(a_worker_ends_with_its_parent),
		cmocka_unit_test(a_role_without_a_channel_does_nothing),
		cmocka_unit_test(a_worker_that_is_started_ahead_gets_ids),
	};

	if (role)
		return argc > 1 ? role_main_ahead(role, argv[1]) : role_main(role);
	if (argv[0] && !strncmp(argv[0], ROLE_PREFIX, strlen(ROLE_PREFIX)))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
