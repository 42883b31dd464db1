/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_privileges.c - what is left after privileges_drop(), in a process of its own; with fewer
 * rights there is less to lose, and nothing is ever gained.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/system/privileges.h"

#define BIT(cap) (1ULL << (cap))
#define EFFECTIVE (BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_CHECKPOINT_RESTORE))
#define SAMPLING (BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYSLOG))
#define PERMITTED BIT(CAP_DAC_OVERRIDE)

/* Returns the number after "NAME:" in our own status. */
static unsigned long long status(const char *name, int base)
{
	unsigned long long value = ~0ULL;
	FILE *f = fopen("/proc/self/status", "r");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
			value = strtoull(line + strlen(name) + 1, NULL, base);
	}
	if (f)
		fclose(f);
	return value;
}

/* Runs check in a child, whose exit code is the line of the failure. */
static void in_child(int (*check)(void))
{
	int code = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(check());
	assert_int_equal(waitpid(pid, &code, 0), pid);
	assert_int_equal(code, 0);
}

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what))                                                                       \
			return __LINE__;                                                           \
	} while (0)

static int drop_to(const struct privileges_need *need, unsigned long long wanted,
		   unsigned long long permitted)
{
	unsigned long long before = status("CapPrm", 16);
	struct rlimit core;

	CHECK(!privileges_drop(need));
	CHECK(status("CapEff", 16) == (before & wanted));
	CHECK(status("CapPrm", 16) == (before & (wanted | permitted)));
	CHECK(status("CapInh", 16) == 0);
	CHECK(status("CapAmb", 16) == 0);
	CHECK(status("NoNewPrivs", 10) == 1);
	CHECK(!getrlimit(RLIMIT_CORE, &core) && !core.rlim_cur && !core.rlim_max);
#ifndef __SANITIZE_ADDRESS__
	CHECK(!prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
#endif
	if (before & BIT(CAP_SETPCAP))
		CHECK(!(status("CapBnd", 16) & ~(wanted | permitted)));
	return 0;
}

static int drop_for(bool sampling, unsigned long long wanted)
{
	return drop_to(&(const struct privileges_need){ .sampling = sampling }, wanted, PERMITTED);
}

/* To kill the command it may keep a right that nothing else needs. */
static int check_command(void)
{
	const struct privileges_need need = { .sampling = true, .command = true };

	return drop_to(&need, EFFECTIVE | SAMPLING, PERMITTED | BIT(CAP_KILL));
}

static int check_sampling(void)
{
	return drop_for(true, EFFECTIVE | SAMPLING);
}

static int check_listing(void)
{
	return drop_for(false, EFFECTIVE);
}

static int check_without_rights(void)
{
	cap_t none = cap_init();

	CHECK(none && !cap_set_proc(none));
	cap_free(none);
	CHECK(!drop_for(true, EFFECTIVE | SAMPLING));
	CHECK(!status("CapPrm", 16));
	return 0;
}

/* A second call changes nothing: no right comes back. */
static int check_twice(void)
{
	CHECK(!drop_for(false, EFFECTIVE));
	CHECK(!drop_for(true, EFFECTIVE));
	return 0;
}

static int check_loan(void)
{
	unsigned long long before, bit = BIT(CAP_DAC_OVERRIDE);

	CHECK(!drop_for(false, EFFECTIVE));
	before = status("CapEff", 16);
	CHECK(!(before & bit));
	{
		cleanup_loan struct privileges_loan loan = privileges_borrow(CAP_DAC_OVERRIDE);

		CHECK(loan.taken == !!(status("CapPrm", 16) & bit));
		CHECK(status("CapEff", 16) == (before | (loan.taken ? bit : 0)));
	}
	CHECK(status("CapEff", 16) == before);
	{
		cleanup_loan struct privileges_loan loan = privileges_borrow(CAP_SYS_ADMIN);

		CHECK(!loan.taken);
	}
	CHECK(status("CapEff", 16) == before);
	return 0;
}

static void a_loan_is_given_back(void **state)
{
	in_child(check_loan);
}

static void a_recording_keeps_what_it_needs(void **state)
{
	in_child(check_sampling);
}

static void with_a_command_krait_may_end_it(void **state)
{
	in_child(check_command);
}

static void a_list_keeps_less(void **state)
{
	in_child(check_listing);
}

static void without_rights_nothing_fails_or_is_gained(void **state)
{
	in_child(check_without_rights);
}

static void what_is_gone_does_not_come_back(void **state)
{
	in_child(check_twice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_keeps_what_it_needs),
		cmocka_unit_test(with_a_command_krait_may_end_it),
		cmocka_unit_test(a_list_keeps_less),
		cmocka_unit_test(without_rights_nothing_fails_or_is_gained),
		cmocka_unit_test(what_is_gone_does_not_come_back),
		cmocka_unit_test(a_loan_is_given_back),
	};

	return cmocka_run_group_tests_name("privileges", tests, NULL, NULL);
}
