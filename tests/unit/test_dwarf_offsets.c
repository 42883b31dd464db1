/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_dwarf_offsets.c - krait's tables (py_builtin_offsets.c), and what 3.13 and later publish,
 * equal what the compiler wrote: compares them with the DWARF of every interpreter on this machine
 * that has any.
 *
 * KRAIT_DWARF_FILES names more files, separated by colons, each as ROOT=PATH (the folder below
 * which to look for debug information, and the file); scripts/derive-offsets sets it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_pythons.h"
#include "support_roles.h"
#include "process/identify/dwarf_jobs.h"
#include "process/parser/parser.h"
#include "process/identify/dwarf_offsets.h"
#include "process/elf/elf_file.h"
#include "process/elf/elf_runtime.h"
#include "python/layout/py_builtin_offsets.h"
#include "base/data/cleanup.h"

#define PYTHONS_MAX 32

static const struct field {
	const char *name;
	size_t at;
} fields[] = {
#define FIELD(name)                                                                                \
	{                                                                                          \
#name, offsetof(struct py_offsets, name)                                           \
	}
	FIELD(version),
	FIELD(flags),
	FIELD(frame_kind),
	FIELD(lasti_shift),
	FIELD(runtime.interpreters_head),
	FIELD(runtime.finalizing),
	FIELD(runtime.tstate_current),
	FIELD(runtime.gil),
	FIELD(runtime.gc_collecting),
	FIELD(interp.id),
	FIELD(interp.next),
	FIELD(interp.threads_head),
	FIELD(interp.code_object_generation),
	FIELD(interp.gil),
	FIELD(interp.gc_collecting),
	FIELD(interp.gc_frame),
	FIELD(thread.prev),
	FIELD(thread.next),
	FIELD(thread.interp),
	FIELD(thread.current_frame),
	FIELD(thread.base_frame),
	FIELD(thread.last_profiled_frame),
	FIELD(thread.last_profiled_frame_seq),
	FIELD(thread.thread_id),
	FIELD(thread.native_thread_id),
	FIELD(thread.status),
	FIELD(thread.cframe),
	FIELD(cframe.current_frame),
	FIELD(cframe.previous),
	FIELD(frame.previous),
	FIELD(frame.executable),
	FIELD(frame.instr_ptr),
	FIELD(frame.owner),
	FIELD(frame.tlbc_index),
	FIELD(frame.localsplus),
	FIELD(frame.is_entry),
	FIELD(code.filename),
	FIELD(code.name),
	FIELD(code.qualname),
	FIELD(code.linetable),
	FIELD(code.firstlineno),
	FIELD(code.code_adaptive),
	FIELD(code.tlbc),
	FIELD(code.version),
	FIELD(code.bytecode),
	FIELD(object.ob_type),
	FIELD(object.tp_name),
	FIELD(unicode.state),
	FIELD(unicode.length),
	FIELD(unicode.ascii_size),
	FIELD(unicode.compact_size),
	FIELD(bytes.ob_size),
	FIELD(bytes.ob_sval),
};
#define FIELD_CNT (sizeof(fields) / sizeof(fields[0]))
_Static_assert(FIELD_CNT * sizeof(__s32) == sizeof(struct py_offsets), "a member is missing");

/* Returns the result of dwarf_jobs once it has read the file. */
static int dwarf_offsets_read(const char *path, const char *root, __u32 version,
			      struct py_offsets *ret, char *why, size_t why_size)
{
	struct dwarf_request request = {
		.file = { .ino = 1 }, .path = path, .root = root, .version = version
	};
	struct parsers *parsers = parsers__new();
	struct dwarf_jobs *jobs = dwarf_jobs__new(parsers);
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_runtime elf = { 0 };
	struct elf_file file;
	int r;

	assert_non_null(jobs);
	if (fd >= 0 && !elf_file_init(&file, fd) && !elf_runtime_build_id(&file, &elf)) {
		request.build_id = elf.build_id;
		request.build_id_len = elf.build_id_len;
	}
	while ((r = dwarf_jobs__get(jobs, &request, ret, why, why_size)) == -EINPROGRESS)
		usleep(5000);
	dwarf_jobs__free(jobs);
	parsers__free(parsers);
	return r;
}

static __s32 value(const struct py_offsets *o, const struct field *f)
{
	__s32 v;

	memcpy(&v, (const char *)o + f->at, sizeof(v));
	return v;
}

/* Finds what krait uses for this file: published offsets or the table. */
static int in_use(const struct elf_runtime *elf, struct py_offsets *ret, __u32 *version)
{
	const struct py_offsets *table;
	char why[160];

	*version = elf->py_version;
	if (elf->table_len && !elf->py_version) {
		*version = py_debug_table_version(elf->table, elf->table_len);
		return py_offsets_parse(elf->table, elf->table_len, ret, why, sizeof(why));
	}
	table = py_builtin_offsets_find(*version >> 16 & 0xff);
	if (!table)
		return -ENOTSUP;
	*ret = *table;
	ret->version = *version;
	return 0;
}

/* Returns 1 (compared) or 0 (skipped). */
static int compare(const char *root, const char *path)
{
	struct py_offsets used, derived;
	char why[96], name[24];
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_runtime elf;
	unsigned wrong = 0;
	__u32 version;

	if (fd < 0 || elf_runtime_read(fd, &elf) || in_use(&elf, &used, &version))
		return 0;
	py_version_format(version, name, sizeof(name));
	if (dwarf_offsets_read(path, root, version, &derived, why, sizeof(why))) {
		printf("# skipped: %s %s: %s\n", name, path, why);
		return 0;
	}
	for (size_t i = 0; i < FIELD_CNT; i++) {
		if (value(&used, &fields[i]) == value(&derived, &fields[i]))
			continue;
		wrong++;
		printf("# %s %s: %s is %d, DWARF says %d\n", name, path, fields[i].name,
		       value(&used, &fields[i]), value(&derived, &fields[i]));
	}
	if (wrong)
		fail_msg("%s: %u members of %s differ from its DWARF", path, wrong, name);
	printf("# %s %s: %zu members agree with its DWARF\n", name, path, FIELD_CNT);
	return 1;
}

/*
 * Tries the files that may contain the interpreter: the executable, and libraries in their usual
 * places.
 */
static void compare_python(const struct python *p)
{
	const char *root = strcmp(p->root, "/") ? p->root : "";
	int folder = (int)(strrchr(p->path, '/') - p->path);
	int minor = atoi(p->version + 2);
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", root, p->path);
	compare(p->root, path);
	snprintf(path, sizeof(path), "%s%.*s/../lib/libpython3.%d%s.so.1.0", root, folder, p->path,
		 minor, strncmp(p->kind, "nogil", 5) ? "" : "t");
	compare(p->root, path);
	snprintf(path, sizeof(path), "%s/usr/lib/x86_64-linux-gnu/libpython3.%d.so.1.0", root,
		 minor);
	if (!strncmp(p->path, "/usr/bin/", 9))
		compare(p->root, path);
}

static void the_offsets_in_use_are_those_of_the_dwarf(void **state)
{
	struct python pythons[PYTHONS_MAX];
	size_t cnt = pythons_find(pythons, PYTHONS_MAX, 8);
	const char *more = getenv("KRAIT_DWARF_FILES");
	cleanup_free char *files = strdup(more ? more : "");
	char *next = NULL;

	for (size_t i = 0; i < cnt; i++)
		compare_python(&pythons[i]);
	for (char *f = strtok_r(files, ":", &next); f; f = strtok_r(NULL, ":", &next)) {
		char *path = strchr(f, '=');

		assert_non_null(path);
		*path++ = '\0';
		assert_int_equal(compare(f, path), 1);
	}
}

static void a_file_without_debug_information_says_so(void **state)
{
	struct py_offsets o = { 0 };
	char why[96];

	assert_int_equal(dwarf_offsets_read("/bin/true", "/", 0x030812f0, &o, why, sizeof(why)),
			 -ENOENT);
	assert_string_equal(why, "there is no debug information for it");
	assert_int_equal(dwarf_offsets_read("/nonexistent", "/", 0x030812f0, &o, why, sizeof(why)),
			 -ENOENT);
	assert_int_equal(dwarf_offsets_read("/proc/self/maps", "/", 0x030812f0, &o, why,
					    sizeof(why)),
			 -ENOENT);
	assert_int_equal(o.version, 0);
}

/* Debug information of another program: this test. */
static void debug_information_without_an_interpreter_is_refused(void **state)
{
	struct py_offsets o = { 0 };
	char why[96];

	assert_int_equal(dwarf_offsets_read("/proc/self/exe", "/", 0x030812f0, &o, why,
					    sizeof(why)),
			 -ENOENT);
	assert_int_equal(o.version, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_without_debug_information_says_so),
		cmocka_unit_test(debug_information_without_an_interpreter_is_refused),
		cmocka_unit_test(the_offsets_in_use_are_those_of_the_dwarf),
	};

	become_worker(argv);
	return cmocka_run_group_tests_name("user/process/identify/dwarf_offsets.c", tests, NULL,
					   NULL);
}
