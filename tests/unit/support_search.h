/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_search.h - a fake runtime for tests of the search for a thread's state.
 */
#ifndef KRAIT_TESTS_SUPPORT_SEARCH_H
#define KRAIT_TESTS_SUPPORT_SEARCH_H

#include "support_walker.h"

/* The thread pointer to search for, and those of other threads. */
#define SELF 0x7f55aa001740ULL
#define OTHER(n) (SELF + 0x801000ULL * ((n) + 1))

struct search_fixture {
	struct fake *fake;
	struct stack_walk_result result;
};

/* The group's setup and teardown. */
int search_fixture_new(void **state);
int search_fixture_free(void **state);
/* Makes a runtime of that version without interpreters, dropping the old one. */
void search_fixture_begin(struct search_fixture *x, int version);

/* Adds states of cnt other threads at the head. Returns interp_addr. */
__u64 add_others(struct search_fixture *x, __u64 interp_addr, int cnt);
void assert_found(struct search_fixture *x, __u64 tstate_addr, __u64 interp_addr);
void assert_reason(struct search_fixture *x, __u32 reason);

#endif /* KRAIT_TESTS_SUPPORT_SEARCH_H */
