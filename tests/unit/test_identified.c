/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_identified.c - user/process/probe/identified.c: a prober that works is waited for, one that sleeps
 * not for long, and only what hangs is called so. The prober is ours, and so is the clock.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "process/probe/identified.h"
#include "process/probe/prober.h"
#include "base/system/clock.h"

static __u64 clock_ns;

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	*ret = (struct timespec){ (time_t)(clock_ns / NS_PER_SEC), (long)(clock_ns % NS_PER_SEC) };
	return 0;
}

/* A prober with one request. */
struct prober {
	__u64 asked_ns, takes_ns; /* until the answer */
	int result;
	bool slow; /* it sleeps meanwhile */
	probe_done_fn done;
	void *ctx;
};

int prober__ask(struct prober *p, enum prober_lane lane, const struct probe_request *r,
		const int *fds, unsigned fd_cnt, probe_done_fn done, void *ctx)
{
	p->asked_ns = clock_ns;
	p->done = done;
	p->ctx = ctx;
	return 0;
}

void prober__wait(struct prober *p, int timeout_ms)
{
	struct py_process found = { .pid = 42, .why = "it is a bird" };
	int none[PROBE_FDS_MAX] = { -1, -1, -1 };

	clock_ns += (__u64)timeout_ms * NS_PER_MS;
	if (!p->done || clock_ns - p->asked_ns < p->takes_ns)
		return;
	if (p->result == -ETIMEDOUT)
		p->done(p->ctx, p->result, NULL, 0, none);
	else
		p->done(p->ctx, p->result, &found, sizeof(found), none);
	p->done = NULL;
}

__u64 prober__step(struct prober *p)
{
	return 0;
}

void prober__forget(struct prober *p, const void *ctx)
{
	assert_ptr_equal(p->ctx, ctx);
	p->done = NULL;
}

bool prober__is_slow(const struct prober *p, const void *ctx)
{
	return p->slow && p->done && p->ctx == ctx;
}

bool prober__is_nested(const struct prober *p)
{
	return false;
}

/* Returns why; *ret_secs: how long it took. */
static const char *wait_for(struct prober *p, int expected, __u64 *ret_secs)
{
	static struct identified found;
	struct probed *probed = NULL;
	const __u64 begin_ns = clock_ns = 1000 * NS_PER_SEC;

	memset(&found, 0, sizeof(found));
	found.process.pid = 42;
	assert_int_equal(identified_wait(p, &found, &probed), expected);
	assert_null(probed);
	assert_null(p->done);
	*ret_secs = (clock_ns - begin_ns) / NS_PER_SEC;
	return found.process.why;
}

/* A thousand deep threads, or a busy machine. */
static void a_prober_that_works_is_waited_for(void **state)
{
	struct prober p = { .takes_ns = 20 * NS_PER_SEC, .result = -ENOEXEC };
	__u64 secs;

	assert_string_equal(wait_for(&p, -ENOEXEC, &secs), "it is a bird");
	assert_int_equal(secs, 20);
}

static void not_for_ever_and_it_is_not_said_to_hang(void **state)
{
	struct prober p = { .takes_ns = 1000 * NS_PER_SEC };
	__u64 secs;

	assert_string_equal(wait_for(&p, -ETIMEDOUT, &secs), PROBED_LATE);
	assert_true(secs < PROBER_HUNG_AT_ALL_NS / NS_PER_SEC);
}

static void one_that_sleeps_now_and_then_is_not_said_to_hang(void **state)
{
	struct prober p = { .takes_ns = 20 * NS_PER_SEC, .slow = true };
	__u64 secs;

	assert_string_equal(wait_for(&p, -ETIMEDOUT, &secs), PROBED_LATE);
	assert_in_range(secs, 5, 6);
}

static void what_hangs_is_said_to_hang(void **state)
{
	struct prober p = { .takes_ns = PROBER_HUNG_NS, .result = -ETIMEDOUT, .slow = true };
	__u64 secs;

	assert_string_equal(wait_for(&p, -ETIMEDOUT, &secs), PROBED_HUNG);
	assert_in_range(secs, 2, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_prober_that_works_is_waited_for),
		cmocka_unit_test(not_for_ever_and_it_is_not_said_to_hang),
		cmocka_unit_test(one_that_sleeps_now_and_then_is_not_said_to_hang),
		cmocka_unit_test(what_hangs_is_said_to_hang),
	};

	return cmocka_run_group_tests_name("user/process/probe/identified.c", tests, NULL, NULL);
}
