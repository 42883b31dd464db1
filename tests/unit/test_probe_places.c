/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_probe_places.c - where probes go in this program, which has marks as sys/sdt.h makes them.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_self.h"
#include "base/data/cleanup.h"
#include "native/names/probe_places.h"

/* Its counter is in memory that the kernel can write. */
__asm__(".pushsection .probes,\"aw\",%progbits\n"
	"test_counter: .2byte 0\n"
	".popsection\n"
	".pushsection .stapsdt.base,\"aG\",%progbits,.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n"
	".popsection\n");

#define MARK(name, counter)                                                                        \
	__asm__ volatile("990: nop\n"                                                              \
			 ".pushsection .note.stapsdt,\"?\",\"note\"\n"                             \
			 ".balign 4\n"                                                             \
			 ".4byte 992f-991f,994f-993f,3\n"                                          \
			 "991: .asciz \"stapsdt\"\n"                                               \
			 "992: .balign 4\n"                                                        \
			 "993: .8byte 990b,_.stapsdt.base," counter "\n"                           \
			 ".asciz \"tests\"\n"                                                      \
			 ".asciz \"" name "\"\n"                                                   \
			 ".asciz \"8@%rax\"\n"                                                     \
			 "994: .balign 4\n"                                                        \
			 ".popsection\n")

/* What a hostile file may say. */
#define FALSE_MARK(name, place, counter)                                                           \
	__asm__(".pushsection .note.stapsdt,\"\",\"note\"\n"                                       \
		".balign 4\n"                                                                      \
		".4byte 8,994f-993f,3\n"                                                           \
		".asciz \"stapsdt\"\n"                                                             \
		"993: .8byte " place ",_.stapsdt.base," counter "\n"                               \
		".asciz \"false\"\n"                                                               \
		".asciz \"" name "\"\n"                                                            \
		".asciz \"\"\n"                                                                    \
		"994: .balign 4\n"                                                                 \
		".popsection\n")

extern const __u16 test_counter;
void probed(void);

FALSE_MARK("no_nop", "main", "0");
FALSE_MARK("in_code", "a_nop", "probed");
__asm__(".pushsection .text\n"
	"a_nop: nop\n"
	".balign 16\n"
	".popsection\n");

__attribute__((noinline)) void probed(void)
{
	MARK("first", "test_counter");
	MARK("second", "0");
	MARK("first", "test_counter");
}

static struct parser_probes found;

static int find(enum probe_kind kind, const char *name)
{
	cleanup_close int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	return probe_places(fd, kind, name, &found);
}

static void marks_are_where_the_program_has_them(void **state)
{
	const __u64 begin = self_offset_of((const void *)(uintptr_t)probed);

	assert_int_equal(find(PROBE_MARK, "first"), 0);
	assert_int_equal(found.cnt, 2);
	assert_in_range(found.list[0].offset, begin, begin + 64);
	assert_in_range(found.list[1].offset, found.list[0].offset + 1, begin + 64);
	assert_int_equal(found.list[0].counter_offset, self_offset_of(&test_counter));
	assert_int_equal(find(PROBE_MARK, "tests:second"), 0);
	assert_int_equal(found.cnt, 1);
	assert_int_equal(found.list[0].counter_offset, 0);
	assert_int_equal(find(PROBE_MARK, "others:second"), 0);
	assert_int_equal(found.cnt, 0);
	assert_string_equal(found.there, "false:no_nop, false:in_code, tests:first, tests:second");
}

static void functions_are_where_their_symbols_are(void **state)
{
	assert_int_equal(find(PROBE_FUNCTION, "probed"), 0);
	assert_int_equal(found.cnt, 1);
	assert_int_equal(found.list[0].offset, self_offset_of((const void *)(uintptr_t)probed));
	assert_int_equal(found.list[0].counter_offset, 0);
	assert_int_equal(find(PROBE_FUNCTION, "no_such_function"), 0);
	assert_int_equal(found.cnt, 0);
	/* Data is no code. */
	assert_int_equal(find(PROBE_FUNCTION, "found"), 0);
	assert_int_equal(found.cnt, 0);
}

/* The kernel writes where a note says. */
static void a_mark_is_a_nop_and_its_counter_data(void **state)
{
	assert_int_equal(find(PROBE_MARK, "no_nop"), -EILSEQ);
	assert_int_equal(find(PROBE_MARK, "in_code"), -EFAULT);
}

/* Old versions of a function come first in libc's table; no program of today calls them. */
static void a_function_is_the_version_of_today(void **state)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	void *function = libc ? dlsym(libc, "pthread_cond_timedwait") : NULL;
	cleanup_close int fd = -1;
	Dl_info info;

	assert_non_null(function);
	assert_true(dladdr(function, &info));
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_int_equal(probe_places(fd, PROBE_FUNCTION, "pthread_cond_timedwait", &found), 0);
	assert_int_equal(found.cnt, 1);
	assert_int_equal(found.list[0].offset, self_offset_of(function));
	assert_int_equal(probe_places(fd, PROBE_FUNCTION, "strlen", &found), -EOPNOTSUPP);
	dlclose(libc);
}

/* A breakpoint within an instruction would make another of it. */
static void a_probe_is_at_the_begin_of_an_instruction(void **state)
{
	__u64 begin = self_offset_of((const void *)(uintptr_t)probed);
	unsigned good = 0, bad = 0;
	char name[64];

	for (unsigned i = 0; i < 12; i++) {
		int r;

		snprintf(name, sizeof(name), "probed+%u", i);
		r = find(PROBE_FUNCTION, name);
		assert_true(r == 0 || r == -EILSEQ);
		good += !r;
		bad += r != 0;
		if (!r)
			assert_int_equal(found.list[0].offset, begin + i);
	}
	assert_true(good >= 3 && bad >= 2);
	assert_int_equal(find(PROBE_FUNCTION, "probed+100000"), -EILSEQ);
	assert_int_equal(find(PROBE_FUNCTION, "probed+x"), -EINVAL);
	assert_int_equal(find(PROBE_FUNCTION, "probed+"), -EINVAL);
}

static void what_is_no_program_has_no_places(void **state)
{
	cleanup_close int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_int_equal(probe_places(fd, PROBE_MARK, "x", &found), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_are_where_the_program_has_them),
		cmocka_unit_test(a_mark_is_a_nop_and_its_counter_data),
		cmocka_unit_test(a_function_is_the_version_of_today),
		cmocka_unit_test(functions_are_where_their_symbols_are),
		cmocka_unit_test(a_probe_is_at_the_begin_of_an_instruction),
		cmocka_unit_test(what_is_no_program_has_no_places),
	};

	probed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
