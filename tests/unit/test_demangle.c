/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_demangle.c - names of C++ and Rust symbols, broken and endless ones too.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbol/demangle.h"
#include "util/cleanup.h"

static void expect(const char *name, const char *want)
{
	cleanup_free char *got = demangle(name);

	assert_non_null(got);
	assert_string_equal(got, want);
}

/* Without a C++ library names stay as they are. */
static void need_library(void)
{
	cleanup_free char *plain = demangle("_Z1fi");

	if (strcmp(plain, "f(int)") != 0)
		skip();
}

static void other_names_stay(void **state)
{
	expect("", "");
	expect("PyEval_EvalFrameDefault", "PyEval_EvalFrameDefault");
	expect("_", "_");
	expect("Z1fi", "Z1fi");
	expect("_RNvCs1234_7mycrate3foo", "_RNvCs1234_7mycrate3foo");
}

static void cpp_is_as_it_was_written(void **state)
{
	need_library();
	expect("_ZN5torch8autograd6Engine7executeEv", "torch::autograd::Engine::execute()");
	expect("_ZNSt6vectorIiSaIiEE9push_backERKi",
	       "std::vector<int, std::allocator<int> >::push_back(int const&)");
}

static void rust_loses_its_hash_and_nothing_else(void **state)
{
	need_library();
	expect("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	/* One digit is none. */
	expect("_ZN4core3fmt5write17h0123456789abcdeGE", "core::fmt::write::h0123456789abcdeG");
	/* Nothing but the hash is a name. */
	expect("_ZN17h0123456789abcdefE", "h0123456789abcdef");
}

static void broken_names_stay(void **state)
{
	expect("_Z", "_Z");
	expect("_ZN", "_ZN");
	expect("_ZN99999999999999999999x", "_ZN99999999999999999999x");
	expect("_ZNSt6vectorIiSaIi", "_ZNSt6vectorIiSaIi");
	expect("_Z\xff\xfe", "_Z\xff\xfe");
}

static void endless_names_are_not_tried(void **state)
{
	cleanup_free char *name = malloc(100001);

	/* Pointers to pointers to ...: a name that is right, and long when written out. */
	assert_non_null(name);
	memset(name, 'P', 100000);
	memcpy(name, "_Z1f", 4);
	memcpy(name + 99999, "i", 2);
	expect(name, name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_names_stay),
		cmocka_unit_test(cpp_is_as_it_was_written),
		cmocka_unit_test(rust_loses_its_hash_and_nothing_else),
		cmocka_unit_test(broken_names_stay),
		cmocka_unit_test(endless_names_are_not_tried),
	};

	return cmocka_run_group_tests_name("user/symbol/demangle.c", tests, NULL, NULL);
}
