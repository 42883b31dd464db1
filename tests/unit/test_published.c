/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_published.c - tables beside the runtime's: found in live interpreters once the module that
 * contains them is mapped, and believed only if the memory equals the file.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_process.h"
#include "support_roles.h"
#include "process/parser/elf_facts.h"
#include "process/proc/proc.h"
#include "process/identify/published_find.h"

#define IMPORT_CODE "import asyncio, os, time; os.write(1, b'r'); time.sleep(60)"

/* As in Debian's release builds of 3.14.10 and 3.15.2. */
static const struct published_asyncio of_3_14 = {
	168, 136, 96, 108, 109, 128, 152, 225864, 10880, 936, 864, 872, 880,
};
static const struct published_asyncio of_3_15 = {
	168, 136, 96, 108, 109, 128, 152, 226240, 10856, 1104, 1024, 1032, 1048,
};

static struct published_table found_in(struct fixture *f, const struct python *p, const char *code)
{
	struct start s = { .root = p->root, .path = p->path, .code = code };
	pid_t pid = process_start(&s);
	struct published ret;
	int dir;

	assert_true(pid > 0);
	dir = proc_open(pid);
	assert_int_equal(process_identify(f, pid), 0);
	assert_int_equal(published_find(dir, f->process.version, f->process.runtime_addr,
					elf_cache__facts(f->cache), &ret),
			 0);
	assert_int_equal(published_is_whole(&ret, f->process.version),
			 !published_by(f->process.version) || ret.tables[0].addr);
	close(dir);
	process_stop(pid);
	return ret.tables[PUBLISHED_ASYNCIO];
}

static bool is_release(const struct python *p, const char *minor)
{
	return !strncmp(p->version, minor, strlen(minor)) &&
	       (!strcmp(p->kind, "exe") || !strcmp(p->kind, "shared"));
}

static void the_table_of_asyncio_is_found_where_it_is_mapped(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < f->cnt; i++) {
		const struct python *p = &f->pythons[i];
		struct published_table t = found_in(f, p, IMPORT_CODE);

		if (is_release(p, "3.13."))
			assert_int_equal(t.addr, 0);
		if (is_release(p, "3.14."))
			assert_memory_equal(&t.asyncio, &of_3_14, sizeof(of_3_14));
		if (is_release(p, "3.15."))
			assert_memory_equal(&t.asyncio, &of_3_15, sizeof(of_3_15));
		if (is_release(p, "3.14.") || is_release(p, "3.15."))
			assert_true(t.addr != 0);
	}
}

/* 3.14 has it in an extension module; Debian's 3.15 in the runtime's file. */
static void a_module_that_is_not_mapped_yet_publishes_nothing(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < f->cnt; i++) {
		const struct python *p = &f->pythons[i];

		if (is_release(p, "3.14."))
			assert_int_equal(found_in(f, p, WAIT_CODE).addr, 0);
		else if (is_release(p, "3.15."))
			assert_int_not_equal(found_in(f, p, WAIT_CODE).addr, 0);
	}
}

static void a_table_that_cannot_be_is_none(void **state)
{
	__u64 words[13];

	memcpy(words, &of_3_15, sizeof(words));
	assert_true(published_is_sane(PUBLISHED_ASYNCIO, words, sizeof(words)));
	assert_false(published_is_sane(PUBLISHED_ASYNCIO, words, sizeof(words) - 8));
	for (unsigned i = 0; i < 13; i++) {
		static const __u64 bad[] = { 0, 1ULL << 40, ~0ULL, ~0ULL - 7 };

		for (unsigned j = 0; j < sizeof(bad) / sizeof(bad[0]); j++) {
			memcpy(words, &of_3_15, sizeof(words));
			words[i] = bad[j];
			assert_false(published_is_sane(PUBLISHED_ASYNCIO, words, sizeof(words)));
		}
	}
	/* The last offset in PyThreadState that leaves room for two pointers. */
	memcpy(words, &of_3_15, sizeof(words));
	words[12] = words[9] - 16;
	assert_true(published_is_sane(PUBLISHED_ASYNCIO, words, sizeof(words)));
	words[12] += 8;
	assert_false(published_is_sane(PUBLISHED_ASYNCIO, words, sizeof(words)));
}

static void versions_that_may_publish_something(void **state)
{
	assert_false(published_by(0x030d00f0));
	assert_true(published_by(0x030e0af0));
	assert_true(published_by(0x030f02f0));
	assert_false(published_by(0x031000f0));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_of_asyncio_is_found_where_it_is_mapped),
		cmocka_unit_test(a_module_that_is_not_mapped_yet_publishes_nothing),
		cmocka_unit_test(a_table_that_cannot_be_is_none),
		cmocka_unit_test(versions_that_may_publish_something),
	};

	become_worker(argv);
	return cmocka_run_group_tests(tests, process_setup, process_teardown);
}
