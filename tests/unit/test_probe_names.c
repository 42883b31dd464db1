/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_probe_names.c - user/process/probe/probe_names.c: memory that holds no names, whatever it says of itself.
 * (tests/e2e/test_thread_names.py has the names.)
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/data/cleanup.h"
#include "process/probe/probe_names.h"
#include "process/proc/proc.h"
#include "python/layout/py_offsets.h"

/* Words of an "interpreter", each an address. */
#define WORDS 4096

static __u64 runtime[WORDS], interp[WORDS];

static int names_in(__u64 runtime_addr, __u32 cnt, struct probe_names *ret)
{
	static struct py_offsets offsets;
	cleanup_close int dir = proc_open(getpid()),
			  mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	struct probe_names_ask ask = { .cnt = cnt };
	struct names_reader *r = names_reader__new();
	int err;

	assert_non_null(r);
	offsets.interp.next = 8;
	offsets.interp.threads_head = 16;
	ask.threads[0] = (struct probe_names_thread){ (uintptr_t)&ask, getpid(), 7 };
	err = names_reader__read(r, dir, mem, &offsets, runtime_addr, &ask, ret);
	names_reader__free(r);
	return err;
}

static void memory_without_interpreters_has_no_names(void **state)
{
	static struct probe_names ret;

	memset(runtime, 0, sizeof(runtime));
	assert_int_equal(names_in((uintptr_t)runtime, 1, &ret), 0);
	assert_int_equal(ret.cnt, 0);
	assert_true(names_in(8, 1, &ret) < 0);
	assert_int_equal(names_in((uintptr_t)runtime, PROBE_NAMES_MAX + 1, &ret), -EINVAL);
}

/* All that it says is that it is the next one, and its own dictionary, and its own type. */
static void an_interpreter_that_follows_itself_comes_to_an_end(void **state)
{
	static struct probe_names ret;

	for (unsigned i = 0; i < WORDS; i++)
		runtime[i] = interp[i] = (uintptr_t)interp;
	assert_int_equal(names_in((uintptr_t)runtime, 1, &ret), 0);
	assert_int_equal(ret.cnt, 0);
	for (unsigned i = 0; i < PROBE_NAMES_INTERPS; i++)
		assert_int_equal(ret.places[i].interp_addr, (uintptr_t)interp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_without_interpreters_has_no_names),
		cmocka_unit_test(an_interpreter_that_follows_itself_comes_to_an_end),
	};

	return cmocka_run_group_tests_name("process/probe/probe_names", tests, NULL, NULL);
}
