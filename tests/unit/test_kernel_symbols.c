/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_kernel_symbols.c - names and positions of the kernel's code, from text like /proc/kallsyms.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "native/names/kernel_symbols.h"

static const char text[] = "0000000000000000 D per_cpu_start\n"
			   "ffffffff81000000 T _text\n"
			   "ffffffff81000000 T startup_64\n"
			   "ffffffff81000abc t local\n"
			   "ffffffff81000abc T global\n"
			   "ffffffff82000000 T _etext\n"
			   "ffffffff82200000 D data\n"
			   "no line at all\n"
			   "ffffffffc0b00100 t later\t[module]\n"
			   "ffffffffc0a00000 W earlier\t[other]\n"
			   "ffffffffc0c00000 T _etext\t[other]";

static struct kernel_symbols *open_text(const char *content)
{
	char path[] = "/tmp/krait-test-XXXXXX";
	int fd = mkstemp(path);
	struct kernel_symbols *s;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
	close(fd);
	s = kernel_symbols__new(path);
	assert_non_null(s);
	kernel_symbols__find(s, 1); /* reads the file */
	unlink(path);
	return s;
}

static void assert_name(struct kernel_symbols *s, __u64 addr, const char *name, const char *module)
{
	const struct kernel_symbol *found = kernel_symbols__find(s, addr);

	assert_non_null(found);
	assert_string_equal(found->name, name);
	assert_string_equal(found->module, module);
}

static void code_is_found_by_address_whatever_the_order_of_the_lines(void **state)
{
	struct kernel_symbols *s = open_text(text);

	assert_null(kernel_symbols__find(s, 0xffffffff80ffffffULL));
	assert_name(s, 0xffffffff81000000ULL, "_text", "");
	assert_name(s, 0xffffffff81000abdULL, "local", "");
	assert_name(s, 0xffffffff82200000ULL, "_etext", ""); /* data is not code */
	assert_name(s, 0xffffffffc0a00010ULL, "earlier", "other");
	assert_name(s, 0xffffffffc0b00100ULL, "later", "module");
	/* A caller's tag stays, however many symbols are looked up meanwhile. */
	kernel_symbols__find(s, 0xffffffffc0b00100ULL)->tag = 7;
	assert_name(s, 0xffffffff81000000ULL, "_text", "");
	assert_int_equal(kernel_symbols__find(s, 0xffffffffc0b00100ULL)->tag, 7);
	assert_int_equal(kernel_symbols__find(s, 0xffffffff81000abdULL)->tag, 0);
	kernel_symbols__free(s);
	s = open_text("00000000000000b0 t b\n00000000000000d0 t d\n00000000000000a0 t a\n"
		      "00000000000000c0 t c\n00000000000000e0 t e\n");
	for (unsigned i = 0; i < 5; i++)
		assert_name(s, 0xa0 + 16 * i, (char[]){ (char)('a' + i), 0 }, "");
	kernel_symbols__free(s);
}

static void the_place_of_the_code_is_the_kernels_own(void **state)
{
	struct kernel_symbols *s = open_text(text);
	__u64 start, size;

	assert_int_equal(kernel_symbols__text(s, &start, &size), 0);
	assert_int_equal(start, 0xffffffff81000000ULL);
	assert_int_equal(size, 0x1000000);
	kernel_symbols__free(s);
}

static void addresses_that_are_hidden_are_nowhere(void **state)
{
	struct kernel_symbols *s = open_text("0000000000000000 T _text\n"
					     "0000000000000000 T _etext\n");
	__u64 start, size;

	assert_int_equal(kernel_symbols__text(s, &start, &size), -EACCES);
	assert_null(kernel_symbols__find(s, 0xffffffff81000000ULL));
	kernel_symbols__free(s);
	s = open_text("");
	assert_int_equal(kernel_symbols__text(s, &start, &size), -EACCES);
	kernel_symbols__free(s);
}

/* Programs of others stay "bpf". */
static void own_programs_are_known_by_their_place(void **state)
{
	char path[] = "/tmp/krait-test-XXXXXX";
	static const char lines[] = "ffffffff81000000 T _text\n"
				    "ffffffffc0000100 t bpf_prog_1_theirs\t[bpf]\n"
				    "ffffffffc0000200 t bpf_prog_2_ours\t[bpf]\n"
				    "ffffffffc0000300 t bpf_prog_3_ours\t[bpf]\n";
	int fd = mkstemp(path);
	struct kernel_symbols *s = kernel_symbols__new(path);

	assert_int_equal(write(fd, lines, sizeof(lines) - 1), sizeof(lines) - 1);
	close(fd);
	kernel_symbols__own(s, 0xffffffffc0000300ULL, 0x40);
	kernel_symbols__own(s, 0xffffffffc0000200ULL, 0x80);
	assert_name(s, 0xffffffffc0000110ULL, "bpf_prog_1_theirs", "bpf");
	assert_name(s, 0xffffffffc0000210ULL, "bpf_prog_2_ours", KERNEL_MODULE_OWN);
	assert_false(kernel_symbols__is_own(s, 0xffffffff81000010ULL));
	assert_false(kernel_symbols__is_own(s, 0xffffffffc0000110ULL));
	assert_true(kernel_symbols__is_own(s, 0xffffffffc0000200ULL));
	assert_true(kernel_symbols__is_own(s, 0xffffffffc000027fULL));
	assert_false(kernel_symbols__is_own(s, 0xffffffffc0000280ULL));
	assert_true(kernel_symbols__is_own(s, 0xffffffffc0000310ULL));
	unlink(path);
	kernel_symbols__free(s);
}

/* The file exceeds one read, and the initial buffer. */
static void a_long_file_is_read_whole(void **state)
{
	char path[] = "/tmp/krait-test-XXXXXX";
	FILE *f = fdopen(mkstemp(path), "w");
	struct kernel_symbols *s;

	for (unsigned i = 1; i <= 300000; i++)
		fprintf(f, "%016x T a_function_with_a_number_%u\n", i * 16, i);
	fclose(f);
	s = kernel_symbols__new(path);
	assert_name(s, 16, "a_function_with_a_number_1", "");
	assert_name(s, 200000 * 16 + 3, "a_function_with_a_number_200000", "");
	assert_name(s, 300000 * 16, "a_function_with_a_number_300000", "");
	unlink(path);
	kernel_symbols__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_found_by_address_whatever_the_order_of_the_lines),
		cmocka_unit_test(the_place_of_the_code_is_the_kernels_own),
		cmocka_unit_test(addresses_that_are_hidden_are_nowhere),
		cmocka_unit_test(own_programs_are_known_by_their_place),
		cmocka_unit_test(a_long_file_is_read_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
