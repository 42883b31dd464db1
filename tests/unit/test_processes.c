/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_processes.c - limits on followed processes: one user's never displace another's.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "record/follow/process_table.h"
#include "base/share/quota.h"

enum { GREEDY = 5, OTHER = 6 };

static void one_owner_leaves_room_for_others_and_for_root(void **state)
{
	const struct processes_config config = { .all = true };
	struct processes *ps = processes__new(&config);
	struct entry *e, *next;
	pid_t pid = 1;

	assert_non_null(ps);
	while (entry_add(ps, pid, 1, GREEDY))
		assert_true(++pid < 4 * KRAIT_MAX_PROCS);
	assert_true(pid > KRAIT_MAX_PROCS);
	assert_true(processes__room_refused(ps, GREEDY) > 0);
	for (int i = 0; i < 1000; i++)
		assert_non_null(entry_add(ps, ++pid, 1, OTHER));
	assert_int_equal(processes__room_refused(ps, OTHER), 0);
	for (int i = 0; i < KRAIT_MAX_PROCS / 8; i++)
		assert_non_null(entry_add(ps, ++pid, 1, OWNER_ROOT));
	/* Removed ones make room again. No sampler is connected, so entry_remove() cannot be used. */
	HASH_ITER(hh, ps->by_pid, e, next) {
		HASH_DEL(ps->by_pid, e);
		quota__give(ps->room, e->payer, 1);
		free(e);
	}
	assert_int_equal(quota__held_by_all(ps->room), 0);
	processes__free(ps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_owner_leaves_room_for_others_and_for_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
