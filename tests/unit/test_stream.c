/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_stream.c - the reported cause of a failed write is its own, not a stale errno.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/common/formats.h"
#include "support_profile.h"
#include "base/text/stream.h"

/* Accepts nothing and sets no errno, like some libraries' streams. */
static ssize_t refuse(void *cookie, const char *buf, size_t size)
{
	return 0;
}

static FILE *refusing(void)
{
	static const cookie_io_functions_t io = { .write = refuse };
	FILE *f = fopencookie(NULL, "w", io);

	assert_non_null(f);
	return f;
}

static void a_cause_that_nobody_knows_is_eio(void **state)
{
	FILE *f = refusing();

	fputs("text", f);
	errno = EPERM;
	assert_int_equal(stream_finish(f), -EIO);
	fclose(f);
}

static void a_known_cause_is_named(void **state)
{
	FILE *f = fopen("/dev/full", "w");

	assert_non_null(f);
	fputs("text", f);
	errno = EPERM;
	assert_int_equal(stream_finish(f), -ENOSPC);
	fclose(f);
}

static void what_has_arrived_is_no_failure(void **state)
{
	FILE *f = fopen("/dev/null", "w");

	assert_non_null(f);
	fputs("text", f);
	errno = EPERM;
	assert_int_equal(stream_finish(f), 0);
	fclose(f);
}

/* folded and script used to keep an earlier errno. */
static void every_format_names_its_own_cause(void **state)
{
	static const char *const names[] = { "folded",	   "html",    "script",	  "pprof",
					     "speedscope", "firefox", "callgrind" };
	struct profile *p = small_profile();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct emitter_ops *ops = format_by_name(names[i]);
		const struct emit_options options = { .title = "test" };
		struct emitter *e;
		FILE *f = refusing();

		assert_int_equal(ops->open(&e, f, &options), 0);
		errno = EPERM;
		assert_int_equal(ops->finish(e, p, 0), -EIO);
		ops->free(e);
		fclose(f);
	}
	profile__free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cause_that_nobody_knows_is_eio),
		cmocka_unit_test(a_known_cause_is_named),
		cmocka_unit_test(what_has_arrived_is_no_failure),
		cmocka_unit_test(every_format_names_its_own_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
