/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_kernel_names.c - kernel names in a capture: those that occurred are read back by any reader
 * anywhere, and text that is not such a line is ignored.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/common/formats.h"
#include "capture/dso/kernel_names.h"
#include "capture/import/perf_import.h"
#include "capture/import/running_kernel.h"
#include "profile/frames.h"
#include "support_folder.h"
#include "support_profile.h"
#include "base/system/clock.h"
#include "base/system/error.h"

#define LEAF 0xffffffff81000010ULL
#define CALLER 0xffffffff82000020ULL

static char *written(const struct kernel_names *k)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	kernel_names_write(k, out);
	fclose(out);
	return text;
}

static void what_was_met_comes_back(void **state)
{
	struct kernel_names k = { 0 }, again = { 0 };
	char *text;

	assert_int_equal(kernel_names_add(&k, LEAF, "do_syscall_64", "[kernel.kallsyms]"), 0);
	assert_int_equal(kernel_names_add(&k, CALLER, "ext4_read", "[ext4]"), 0);
	assert_int_equal(kernel_names_add(&k, LEAF, "another", "[kernel.kallsyms]"), 0);
	assert_int_equal(kernel_names_add(&k, 1ULL << 63, "two words", "[x]\ninterrupts"), 0);
	text = written(&k);
	assert_int_equal(kernel_names_read(&again, text), 0);
	assert_int_equal(again.cnt, 2);
	assert_string_equal(kernel_names_find(&again, LEAF)->name, "do_syscall_64");
	assert_string_equal(kernel_names_find(&again, CALLER)->module, "[ext4]");
	assert_null(kernel_names_find(&again, LEAF + 1));
	free(text);
	kernel_names_free(&k);
	kernel_names_free(&again);
}

static void what_is_no_line_is_none(void **state)
{
	static const char *const lines[] = {
		"",
		"kernel ",
		"kernel x y z\n",
		"kernel 1234 [m] in_user_space\n",
		"kernel ffffffff81000000\n",
		"kernel ffffffff81000000 [m]\n",
		"kernel ffffffff81000000 [m] \n",
		"kernel ffffffff81000000  name\n",
		"kernel ffffffff81000000 [m] name and more\n",
		"kernelffffffff81000000 [m] name\n",
		"milliseconds 1\ncomplete.ok 2\n",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct kernel_names k = { 0 };

		assert_int_equal(kernel_names_read(&k, lines[i]), 0);
		assert_int_equal(k.cnt, 0);
		kernel_names_free(&k);
	}
}

static void there_is_a_limit(void **state)
{
	struct kernel_names k = { 0 };

	for (__u64 i = 0; i < KERNEL_NAMES_MAX + 10; i++)
		assert_int_equal(kernel_names_add(&k, LEAF + i, "f", "[m]"), 0);
	assert_int_equal(k.cnt, KERNEL_NAMES_MAX);
	kernel_names_free(&k);
}

/* The first sample's stack: a Python function that called the kernel. */
static void write_capture(const char *path)
{
	const struct emit_options options = { .recording = { .host = "elsewhere",
							     .kernel = "1.2.3" } };
	const struct emitter_ops *ops = format_by_name("perf");
	struct profile_sample s = { .pid = 7, .tid = 7, .period = 1, .comm = "x", .time_ns = 5 };
	struct profile *p = profile__new();
	FILE *out = fopen(path, "w+");
	struct emitter *e;

	s.node = push(p, 0, add_process(p, "x", 7));
	s.node = push(p, s.node, add_thread(p, "x", 7, 7));
	s.node = push(p, s.node, add_function(p, "work", "work.py", 1, 2));
	s.node = push(p, s.node,
		      dict__plain_frame(p->dict, FRAME_KERNEL, "ext4_read", "[ext4]", CALLER));
	s.node = push(p, s.node,
		      dict__plain_frame(p->dict, FRAME_KERNEL, "copy_page", "[kernel.kallsyms]",
					LEAF));
	add_samples(p, s.node, 1);
	assert_int_equal(ops->open(&e, out, &options), 0);
	assert_int_equal(ops->sample(e, p, &s), 0);
	assert_int_equal(ops->finish(e, p, 0), 0);
	ops->free(e);
	fclose(out);
	profile__free(p);
}

static void a_capture_of_another_kernel_has_its_names(void **state)
{
	char folder[TEST_FOLDER_MAX], path[96], *text;
	const struct emit_options folded = { .title = "x" };
	struct perf_import_config config = { .path = path };
	struct profile *p = profile__new();
	struct perf_import_stats stats;
	struct error err;
	FILE *in;

	test_folder_make(folder);
	setenv("PERF_BUILDID_DIR", folder, 1);
	snprintf(path, sizeof(path), "%s/x.data", folder);
	write_capture(path);
	in = fopen(path, "r");
	assert_int_equal(perf_import(p, in, &config, &stats, &err), 0);
	fclose(in);
	text = emit_text("folded", p, &folded);
	assert_string_equal(text, "x;work (work.py);ext4_read_[k];"
				  "copy_page_[k] 1\n");
	free(text);
	profile__free(p);
	test_folder_remove(folder);
}

static void another_boot_or_host_is_another_kernel(void **state)
{
	struct perf_read_facts f = { .wall_offset_ns = clock_wall_offset_ns() };
	struct utsname uts;

	assert_int_equal(uname(&uts), 0);
	snprintf(f.host, sizeof(f.host), "%s", uts.nodename);
	snprintf(f.kernel, sizeof(f.kernel), "%s", uts.release);
	assert_true(running_kernel_is(&f));
	f.wall_offset_ns -= 60 * (__s64)NS_PER_SEC;
	assert_false(running_kernel_is(&f));
	f.wall_offset_ns = 0;
	assert_false(running_kernel_is(&f));
	f.wall_offset_ns = clock_wall_offset_ns();
	f.kernel[0]++;
	assert_false(running_kernel_is(&f));
	f.kernel[0]--;
	f.host[0]++;
	assert_false(running_kernel_is(&f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_met_comes_back),
		cmocka_unit_test(what_is_no_line_is_none),
		cmocka_unit_test(there_is_a_limit),
		cmocka_unit_test(a_capture_of_another_kernel_has_its_names),
		cmocka_unit_test(another_boot_or_host_is_another_kernel),
	};

	return cmocka_run_group_tests_name("kernel_names", tests, NULL, NULL);
}
