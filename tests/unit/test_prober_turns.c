/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_prober_turns.c - who waits for whom if processes block their readers.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_process.h"
#include "support_roles.h"
#include "support_stuck.h"
#include "process/probe/probed.h"
#include "process/probe/prober.h"
#include "process/proc/proc.h"
#include "process/identify/py_process.h"
#include "base/system/clock.h"

#define PAGE 4096
#define PATIENCE_MS 20000
enum { HOSTILE = 61001, OTHER = 61002, THIRD = 61003 };

/* A thread state as probe_anchor_access() reads it: all fields 0. */
static struct {
	__u64 thread_id, interp, lpf, seq;
	__u8 rest[8192];
} window __attribute__((aligned(PAGE)));

/* A process with our memory that waits to be killed. */
struct sleeper {
	pid_t pid;
	struct probed *probed;
};

static struct stuck stuck;
static char *stuck_page;

/* uid: the real user id; also the effective one unless as_root. */
static pid_t sleep_as(uid_t uid, bool as_root)
{
	return process_fork_waiting(uid, as_root ? 0 : uid);
}

static struct sleeper start(struct prober *p, uid_t uid)
{
	struct sleeper s = { .pid = sleep_as(uid, false) };
	__u64 ticks;

	assert_int_equal(process_start_ticks(s.pid, &ticks), 0);
	s.probed = probed__open(p, s.pid, ticks, (struct probe_image){ 0 });
	assert_non_null(process_ids(s.probed));
	return s;
}

static void stop_process(struct sleeper *s)
{
	probed__free(s->probed);
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
}

struct seen {
	int calls, result;
};

static void note(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX])
{
	struct seen *s = ctx;

	s->calls++;
	s->result = result;
}

static void read_at(struct prober *p, const struct sleeper *s, const void *addr, struct seen *seen)
{
	const struct probe_request r = { .op = PROBE_READ,
					 .pid = s->pid,
					 .read = { (uintptr_t)addr, 1 } };
	int mem = probed__mem(s->probed);

	*seen = (struct seen){ 0 };
	assert_int_equal(prober__ask(p, PROBER_LATER, &r, &mem, 1, note, seen), 0);
}

static __u64 await(struct prober *p, const struct seen *seen)
{
	__u64 begin_ns = clock_monotonic_ns();

	while (!seen->calls && clock_monotonic_ns() - begin_ns < PATIENCE_MS * NS_PER_MS)
		prober__wait(p, 5);
	assert_int_equal(seen->calls, 1);
	return clock_monotonic_ns() - begin_ns;
}

static int setup(void **state)
{
	int fd;

	stuck_page = NULL;
	if (getuid() || !stuck_mount(&stuck))
		return 0;
	fd = open(stuck.file, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	stuck_page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(stuck_page, MAP_FAILED);
	close(fd);
	return 0;
}

static int teardown(void **state)
{
	if (!stuck_page)
		return 0;
	munmap(stuck_page, PAGE);
	stuck_unmount(&stuck);
	return 0;
}

/* ---- */

static void who_comes_after_many_that_hang_does_not_wait_for_them(void **state)
{
	enum { MANY = 6 };
	struct prober *p = prober__new(PROBERS_MAX);
	struct sleeper hostile[MANY], other;
	struct seen seen[MANY], one;

	if (!stuck_page)
		skip();
	for (int i = 0; i < MANY; i++)
		hostile[i] = start(p, HOSTILE);
	other = start(p, OTHER);
	for (int i = 0; i < MANY; i++)
		read_at(p, &hostile[i], stuck_page, &seen[i]);
	read_at(p, &other, &one, &one);
	/* One look at the first one; a second prober has to be started. */
	assert_true(await(p, &one) < PROBER_HUNG_NS / 4);
	assert_int_equal(one.result, 0);
	/* Stays as fast while they hang, whoever of them waits. */
	for (int i = 0; i < 10; i++) {
		read_at(p, &other, &one, &one);
		assert_true(await(p, &one) < PROBER_HUNG_NS / 4);
	}
	assert_true(prober__slow_cnt(p) > 0);
	for (int i = 0; i < MANY; i++) {
		await(p, &seen[i]);
		assert_true(seen[i].result == -ETIMEDOUT || seen[i].result == -EUSERS);
	}
	assert_true(prober__hung_cnt(p) < MANY);
	for (int i = 0; i < MANY; i++)
		stop_process(&hostile[i]);
	stop_process(&other);
	prober__free(p);
}

static void all_that_share_a_bound_keep_it(void **state)
{
	const uid_t uids[] = { HOSTILE, OTHER, THIRD };
	struct prober *p[] = { prober__new(PROBERS_MAX), prober__new(PROBERS_MAX) };
	struct sleeper hostile[3], fine;
	struct seen seen[2][3], one;
	unsigned alive = 0, most = 0;

	if (!stuck_page)
		skip();
	for (int i = 0; i < 2; i++)
		prober__share(p[i], &alive);
	for (int i = 0; i < 3; i++)
		hostile[i] = start(p[0], uids[i]);
	fine = start(p[0], 0);
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 2; k++)
			read_at(p[k], &hostile[i], stuck_page, &seen[k][i]);
	for (int ms = 0; ms < 200; ms += 5)
		for (int k = 0; k < 2; k++) {
			prober__wait(p[k], 2);
			most = alive > most ? alive : most;
		}
	assert_in_range(most, 2, PROBERS_ALIVE_MAX);
	for (int k = 0; k < 2; k++) {
		read_at(p[k], &fine, &one, &one);
		await(p[k], &one);
		assert_int_equal(one.result, 0);
		assert_true(alive <= PROBERS_ALIVE_MAX);
	}
	for (int i = 0; i < 3; i++)
		stop_process(&hostile[i]);
	stop_process(&fine);
	for (int k = 0; k < 2; k++)
		prober__free(p[k]);
	assert_int_equal(alive, 0);
}

static void write_at(struct prober *p, const struct sleeper *s, const void *tstate, __u64 value,
		     struct seen *seen)
{
	const int fds[] = { probed__dir(s->probed), probed__mem(s->probed) };
	const struct probe_request r = {
		.op = PROBE_ANCHOR_WRITE,
		.pid = s->pid,
		.anchor = { .tstate_addr = (uintptr_t)tstate,
			    .interp = 8,
			    .last_profiled_frame = 16,
			    .last_profiled_frame_seq = 24,
			    .creds_digest = probed__ids(s->probed, false)->creds_digest,
			    .frame_addr = value },
	};

	*seen = (struct seen){ 0 };
	assert_int_equal(prober__ask(p, PROBER_LATER, &r, fds, 2, note, seen), 0);
}

/* A prober that was set aside continues with its queued work: that must not include a write. */
static void a_write_never_comes_late(void **state)
{
	const __u64 none = 0;
	struct prober *p = prober__new(PROBERS_MAX);
	struct sleeper hostile, fine;
	struct seen hung, done;
	__u64 lpf = 1;
	int mem;

	if (!stuck_page)
		skip();
	hostile = start(p, HOSTILE);
	fine = start(p, OTHER);
	read_at(p, &hostile, stuck_page, &hung);
	write_at(p, &fine, &window, 0x1234, &done);
	await(p, &done);
	assert_int_equal(done.result, 0);
	mem = probed__mem(fine.probed);
	assert_int_equal(pread(mem, &lpf, sizeof(lpf), (off_t)(uintptr_t)&window.lpf), 8);
	assert_int_equal(lpf, 0x1234);
	assert_int_equal(pwrite(mem, &none, sizeof(none), (off_t)(uintptr_t)&window.lpf), 8);
	/* Now the prober that was set aside continues. */
	assert_int_equal(hung.calls, 0);
	munmap(stuck_page, PAGE);
	stuck_page = NULL;
	stuck_unmount(&stuck);
	usleep(200000);
	assert_int_equal(pread(mem, &lpf, sizeof(lpf), (off_t)(uintptr_t)&window.lpf), 8);
	assert_int_equal(lpf, 0);
	await(p, &hung);
	stop_process(&hostile);
	stop_process(&fine);
	prober__free(p);
}

/* Root's processes are never refused; but what a user runs with root's rights belongs to the user. */
static void what_runs_for_a_user_is_the_users(void **state)
{
	struct stat st;
	char path[32];
	pid_t pid;

	if (getuid())
		skip();
	pid = sleep_as(HOSTILE, true);
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(proc_owner(pid), HOSTILE);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(proc_owner(getpid()), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(who_comes_after_many_that_hang_does_not_wait_for_them),
		TEST(all_that_share_a_bound_keep_it),
		TEST(a_write_never_comes_late),
		TEST(what_runs_for_a_user_is_the_users),
	};

	become_worker(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
