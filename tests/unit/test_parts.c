/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_parts.c - counts at places in native code go to their lines and inlined functions; origins
 * of frames; wrappers merge with what they call.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "profile/frames.h"
#include "profile/origin.h"
#include "profile/parts.h"
#include "profile/profile.h"
#include "profile/view.h"

static const struct source_frame lines[] = { { NULL, "a.c", 7 }, { "g", "b.h", 3 } };

static __u32 native(struct dict *d, const char *name, __u64 address, bool is_wrapper)
{
	return frame_native(d, &(struct native_place){ .name = name,
						       .path = "/lib/a.so",
						       .address = address,
						       .is_wrapper = is_wrapper });
}

/* Returns the only node below that one; 0: none. */
static __u32 below(const struct view *v, __u32 node)
{
	return v->nodes[node].end > node + 1 ? node + 1 : 0;
}

static void expect(const struct view *v, __u32 node, const char *name, const char *file, int line,
		   __u64 self)
{
	const struct profile_frame *f = &v->frames[v->nodes[node].frame];

	assert_true(node);
	assert_string_equal(view_name(v, f), name);
	assert_string_equal(view_file(v, f), file);
	assert_int_equal(f->line, line);
	assert_int_equal(v->nodes[node].self, self);
}

/* f calls h from the first of two addresses; the second turns out to be in g, which is inlined. */
static struct profile *recorded(bool inlined)
{
	const struct native_place place = { .name = "f", .path = "/lib/a.so" };
	struct profile *p = profile__new();
	__u32 process = dict__named_child(p->dict, 0, FRAME_PROCESS, "python3", 5, 0);
	__u32 first = native(p->dict, "f", 0x10, false), second = native(p->dict, "f", 0x20, false);
	__u32 node = dict__child(p->dict, process, first);

	profile__count(p, 0, node, 1);
	profile__count(p, 0, dict__child(p->dict, node, native(p->dict, "h", 0x30, false)), 1);
	profile__count(p, 0, dict__child(p->dict, process, second), 1);
	assert_int_equal(parts_add(p->dict, first, &place, lines, 1, inlined), 0);
	assert_int_equal(parts_add(p->dict, second, &place, lines, 2, inlined), 0);
	assert_int_equal(parts_expand(p), 0);
	return p;
}

static struct view *view_of(struct profile *p, bool with_lines)
{
	const struct view_options o = { .lines = with_lines, .sources = true };
	struct view *v;

	assert_int_equal(view__new(&v, profile__counts(p, 0), &o), 0);
	assert_int_equal(v->nodes[0].total, profile__counts(p, 0)->samples);
	return v;
}

static void inlined_functions_are_frames_of_their_own(void **state)
{
	struct profile *p = recorded(true);
	struct view *v = view_of(p, true);

	/* By name: f at line 7, with g and h below it. */
	expect(v, 1, "f", "a.c", 7, 1);
	expect(v, 2, "g (inlined)", "b.h", 3, 1);
	expect(v, 3, "h", "/lib/a.so", -1, 1);
	assert_int_equal(v->node_cnt, 4);
	view__free(v);
	v = view_of(p, false);
	expect(v, 1, "f", "/lib/a.so", -1, 1);
	expect(v, 2, "g (inlined)", "/lib/a.so", -1, 1);
	view__free(v);
	profile__free(p);
}

static void without_them_the_innermost_line_counts(void **state)
{
	struct profile *p = recorded(false);
	struct view *v = view_of(p, true);

	expect(v, 1, "f", "a.c", 7, 1);
	expect(v, 2, "h", "/lib/a.so", -1, 1);
	expect(v, 3, "f", "b.h", 3, 1);
	view__free(v);
	v = view_of(p, false);
	expect(v, 1, "f", "/lib/a.so", -1, 2);
	view__free(v);
	profile__free(p);
}

static void a_wrapper_is_one_with_its_function(void **state)
{
	struct profile *p = profile__new();
	__u32 outer = dict__child(p->dict, 0, native(p->dict, "m.f", 0, true));
	__u32 inner = dict__child(p->dict, outer, native(p->dict, "m.f", 0, false));
	__u32 again = dict__child(p->dict, inner, native(p->dict, "m.f", 0, false));
	struct view *v;

	profile__count(p, 0, outer, 1);
	profile__count(p, 0, inner, 1);
	profile__count(p, 0, again, 1);
	v = view_of(p, false);
	expect(v, 1, "m.f", "/lib/a.so", -1, 2);
	/* A recursive function is not its own wrapper. */
	expect(v, below(v, 1), "m.f", "/lib/a.so", -1, 1);
	assert_int_equal(v->node_cnt, 3);
	view__free(v);
	profile__free(p);
}

static void origin_of(char ret[ORIGIN_NAME_SIZE], enum frame_kind kind, const char *file)
{
	origin_name(ret, &(struct profile_frame){ .kind = kind }, file, "[mark]");
}

static void expect_origin(enum frame_kind kind, const char *file, const char *want)
{
	char got[ORIGIN_NAME_SIZE];

	origin_of(got, kind, file);
	assert_string_equal(got, want);
}

static void whose_code_it_is_says_the_path(void **state)
{
	char file[300] = "/opt/";

	expect_origin(FRAME_NATIVE, "/v/lib/python3.11/site-packages/numpy/core/_m.so", "numpy");
	expect_origin(FRAME_NATIVE, "/v/site-packages/numpy.libs/libopenblas.so", "numpy");
	expect_origin(FRAME_NATIVE, "/v/site-packages/_cffi_backend.cpython-311.so",
		      "_cffi_backend");
	expect_origin(FRAME_PYTHON, "/v/lib/python3.11/site-packages/numpy/__init__.py", "numpy");
	expect_origin(FRAME_PYTHON, "/usr/lib/python3/dist-packages/six.py", "six");
	expect_origin(FRAME_PYTHON, "/usr/lib/python3.13t/json/decoder.py", "stdlib");
	expect_origin(FRAME_PYTHON, "<frozen importlib._bootstrap>", "stdlib");
	expect_origin(FRAME_NATIVE, "/usr/lib/python3.11/lib-dynload/_json.so", "stdlib");
	expect_origin(FRAME_PYTHON, "/srv/app/main.py", "application");
	expect_origin(FRAME_PYTHON, "", "application");
	expect_origin(FRAME_NATIVE, "/usr/bin/python3.11", "interpreter");
	expect_origin(FRAME_NATIVE, "/usr/lib/libpython3.13.so.1.0", "interpreter");
	expect_origin(FRAME_NATIVE, "/lib/x86_64-linux-gnu/libc.so.6", "libc");
	expect_origin(FRAME_NATIVE, "/lib64/ld-linux-x86-64.so.2", "libc");
	expect_origin(FRAME_NATIVE, "/lib/libcrypto.so.3", "libcrypto");
	expect_origin(FRAME_NATIVE, "/lib/libx-1.2.so", "libx-1");
	expect_origin(FRAME_NATIVE, "", "code made at run time");
	expect_origin(FRAME_NATIVE, "[vdso]", "kernel");
	expect_origin(FRAME_KERNEL, "[ext4]", "kernel");
	expect_origin(FRAME_MARK, "", "[mark]");
	memset(file + 5, 'x', 200);
	file[205] = '\0';
	{
		char got[ORIGIN_NAME_SIZE];

		origin_of(got, FRAME_NATIVE, file);
		assert_int_equal(strlen(got), ORIGIN_NAME_SIZE - 1);
		origin_name(got,
			    &(struct profile_frame){ .kind = FRAME_NATIVE, .interpreter = true },
			    "/srv/myapp", "f");
		assert_string_equal(got, "interpreter");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_functions_are_frames_of_their_own),
		cmocka_unit_test(without_them_the_innermost_line_counts),
		cmocka_unit_test(a_wrapper_is_one_with_its_function),
		cmocka_unit_test(whose_code_it_is_says_the_path),
	};

	return cmocka_run_group_tests_name("user/profile/parts.c", tests, NULL, NULL);
}
