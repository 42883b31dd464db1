/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_outputs.c - the outputs of a recording as a whole: nothing touches a closed stream.
 * Sanitizers do not look into the C library, so this test wraps the stream functions that krait
 * calls on the way out.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/common/outputs.h"
#include "support_folder.h"
#include "support_profile.h"
#include "base/system/error.h"

#define MAX_CLOSED 32

static const FILE *closed[MAX_CLOSED];
static unsigned closed_cnt, touched;

static void check_open(const FILE *f)
{
	for (unsigned i = 0; i < closed_cnt; i++)
		touched += closed[i] == f;
}

/* Does not free closed streams, so that no other stream gets the same address. */
int fclose(FILE *f)
{
	int (*real)(FILE *) = (int (*)(FILE *))dlsym(RTLD_NEXT, "fclose");
	int fd = fileno(f), err;

	if (fd < 0 || closed_cnt == MAX_CLOSED)
		return real(f);
	err = fflush(f);
	closed[closed_cnt++] = f;
	return close(fd) ? EOF : err;
}

int setvbuf(FILE *f, char *buf, int mode, size_t size)
{
	int (*real)(FILE *, char *, int, size_t) =
		(int (*)(FILE *, char *, int, size_t))dlsym(RTLD_NEXT, "setvbuf");

	check_open(f);
	return touched ? -1 : real(f, buf, mode, size);
}

int fflush(FILE *f)
{
	int (*real)(FILE *) = (int (*)(FILE *))dlsym(RTLD_NEXT, "fflush");

	check_open(f);
	return touched ? EOF : real(f);
}

int fileno(FILE *f)
{
	int (*real)(FILE *) = (int (*)(FILE *))dlsym(RTLD_NEXT, "fileno");

	check_open(f);
	return touched ? -1 : real(f);
}

static void write_samples(struct outputs *o, const struct profile *p)
{
	for (__u32 node = 1; node < dict__node_cnt(p->dict); node++) {
		const struct profile_sample s = {
			.time_ns = node,
			.period = 1,
			.node = node,
			.pid = 1,
			.tid = 1,
			.comm = "python",
		};

		assert_true(outputs__sample(o, p, &s));
	}
}

static void nothing_touches_a_stream_that_is_closed(void **state)
{
	const struct emit_options options = { .title = "krait" };
	static const char *const names[] = { "a.data", "b.folded", "c.html" };
	struct profile *p = small_profile();
	struct outputs *o = outputs__new(false);
	char folder[TEST_FOLDER_MAX], path[3][PATH_MAX];
	struct error err;

	test_folder_make(folder);
	for (unsigned i = 0; i < 3; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/%s", folder, names[i]);
		assert_int_equal(outputs__add(o, path[i], NULL, false, &options, &err), 0);
	}
	write_samples(o, p);
	closed_cnt = touched = 0;
	assert_int_equal(outputs__finish(o, p, 0, true, &err), 0);
	assert_true(closed_cnt >= 3);
	outputs__free(o);
	assert_int_equal(touched, 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(access(path[i], R_OK), 0);
	profile__free(p);
	test_folder_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_touches_a_stream_that_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
