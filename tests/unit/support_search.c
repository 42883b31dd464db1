/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_search.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

int search_fixture_new(void **state)
{
	*state = calloc(1, sizeof(struct search_fixture));
	return *state ? 0 : -1;
}

int search_fixture_free(void **state)
{
	struct search_fixture *x = *state;

	fake_free(x->fake);
	free(x);
	return 0;
}

void search_fixture_begin(struct search_fixture *x, int version)
{
	if (x->fake)
		fake_free(x->fake);
	x->fake = fake_new(&fake_versions[version], 0x7f3300000000, 32 << 20);
}

__u64 add_others(struct search_fixture *x, __u64 interp_addr, int cnt)
{
	for (int i = 0; i < cnt; i++)
		fake_thread(x->fake, interp_addr, OTHER(i), FAKE_STATUS_BOUND);
	return interp_addr;
}

void assert_found(struct search_fixture *x, __u64 tstate_addr, __u64 interp_addr)
{
	fake_heal(x->fake);
	host_search(x->fake, SELF, &x->result);
	assert_int_equal(x->result.reason, REASON_PYTHON);
	assert_int_equal(x->result.tstate_addr, tstate_addr);
	assert_int_equal(x->result.interp_addr, interp_addr);
	assert_true(x->fake->reads <= SEARCH_MAX_READS);
}

void assert_reason(struct search_fixture *x, __u32 reason)
{
	fake_heal(x->fake);
	host_search(x->fake, SELF, &x->result);
	assert_int_equal(x->result.reason, reason);
	assert_true(x->fake->reads <= SEARCH_MAX_READS);
}
