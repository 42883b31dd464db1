/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_native_process.c - maps addresses of live processes to native functions: in this process, a
 * child, an ended one, and with libraries loaded late.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_folder.h"
#include "support_roles.h"
#include "process/space/modules.h"
#include "process/space/space.h"
#include "native/names/native.h"
#include "process/elf/elf_file.h"
#include "process/elf/elf_symbol.h"
#include "base/data/cleanup.h"
#include "base/system/vdso.h"

#define NS 1000000000ULL
/* A library that this program does not use; it is small and comes with every C library. */
#define LATE "libBrokenLocale.so.1"

int a_function_of_this_program(int n);
int __attribute__((noinline)) a_function_of_this_program(int n)
{
	return n + 1;
}

/* By its name, a function that evaluates frames. */
int _PyEval_EvalFrameDefault_part(int n);
int __attribute__((noinline)) _PyEval_EvalFrameDefault_part(int n)
{
	return n + 2;
}

static int some_data = 1;

static __u64 addr_of(const void *p)
{
	return (__u64)(uintptr_t)p;
}

static struct modules *modules;
static struct native_files *files;

static int setup(void **state)
{
	modules = modules__new();
	files = native_files__new(modules);
	return !files;
}

static int teardown(void **state)
{
	native_files__free(files);
	modules__free(modules);
	return 0;
}

/* Each has an address space of its own. */
static struct opened {
	struct native *native;
	struct space *space;
} list[64];

static struct space *space_of(const struct native *n)
{
	for (int i = 0; i < 64; i++) {
		if (n && list[i].native == n)
			return list[i].space;
	}
	return NULL;
}

static struct native *keep(struct native_files *of, struct space *space)
{
	struct opened *o = list;

	while (o->native)
		o++;
	assert_true(o < list + 64);
	*o = (struct opened){ native__new(of, space), space };
	assert_non_null(o->native);
	return o->native;
}

static struct native *open_with(struct native_files *of, pid_t pid, __u64 runtime_addr)
{
	const struct space_config config = { .modules = native_files__modules(of),
					     .pid = pid,
					     .runtime_addr = runtime_addr };
	struct space *space = space__new(&config);

	space__read(space, 0);
	return keep(of, space);
}

static struct native *open_process(pid_t pid, const void *runtime)
{
	return open_with(files, pid, runtime ? addr_of(runtime) : 0);
}

static void close_process(struct native *n)
{
	struct space *space = space_of(n);

	for (int i = 0; i < 64; i++) {
		if (n && list[i].native == n)
			list[i].native = NULL;
	}
	native__free(n);
	space__free(space);
}

static struct native_symbol *find(struct native *n, __u64 ip, __u64 now_ns)
{
	bool later;
	struct native_symbol *s = native__find(n, ip, now_ns, &later);

	assert_false(later);
	return s;
}

static void code_has_the_name_of_its_function(void **state)
{
	struct native *n = open_process(getpid(), NULL);
	__u64 code = addr_of((void *)a_function_of_this_program);
	struct native_symbol *s = find(n, code + 1, NS);

	assert_string_equal(s->name, "a_function_of_this_program");
	/* From the cache. */
	assert_ptr_equal(find(n, code + 1, NS), s);
	/* In the C library, and not intercepted by sanitizers. */
	assert_string_equal(find(n, addr_of(dlsym(RTLD_DEFAULT, "a64l")), NS)->name, "a64l");
	close_process(n);
}

static void only_the_interpreter_evaluates(void **state)
{
	bool later;
	struct native *n = open_process(getpid(), NULL);
	__u64 code = addr_of((void *)a_function_of_this_program);

	assert_non_null(find(n, code, NS));
	assert_false(native__is_eval(n, code, &later));
	assert_false(native__is_eval(n, code, &later));
	assert_false(native__is_eval(n, 16, &later));
	close_process(n);
}

/* Then no parser can be started. */
static void leave_no_descriptors(struct rlimit *ret_before)
{
	struct rlimit r;
	int lowest = dup(0);

	assert_true(lowest >= 0);
	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, ret_before), 0);
	r = *ret_before;
	r.rlim_cur = (rlim_t)lowest;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &r), 0);
}

/*
 * If no parser can answer now, or may be asked now, krait asks again later; until then the file's
 * name stands in.
 */
static void a_name_that_does_not_come_now_comes_later(void **state)
{
	bool later;
	__u64 code = addr_of((void *)a_function_of_this_program);
	__u64 eval = addr_of((void *)_PyEval_EvalFrameDefault_part);
	struct modules *mine = modules__new();
	struct native_files *own = native_files__new(mine);
	struct native *n = open_with(own, getpid(), addr_of(dlsym(RTLD_DEFAULT, "a64l")));
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct rlimit before;

	native_files__starve(own, true);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(native__find(n, code, NS, &later)->name,
				    "[test_native_process]");
		assert_true(later);
	}
	native_files__starve(own, false);
	native_files__open_fd(own, native__module(n, code, NS, false), fd, false);
	leave_no_descriptors(&before);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(native__find(n, code, NS, &later)->name,
				    "[test_native_process]");
		assert_true(later);
		assert_false(native__is_eval(n, eval, &later));
		assert_true(later);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_string_equal(find(n, code, NS)->name, "a_function_of_this_program");
	assert_true(native__is_eval(n, eval, &later));
	assert_false(later);
	close_process(n);
	native_files__free(own);
	modules__free(mine);
}

/* As many other files as may be open, so that the rest is closed. */
static void open_others(struct native_files *of)
{
	char path[TEST_FOLDER_MAX], file[TEST_FOLDER_MAX + 16];

	test_folder_make(path);
	for (int i = 0; i < NATIVE_FILES_OPEN; i++) {
		struct module *m;
		int fd;

		snprintf(file, sizeof(file), "%s/%d", path, i);
		fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		m = modules__get(native_files__modules(of), file, file, 0);
		assert_non_null(m);
		native_files__open_fd(of, m, fd, false);
	}
	test_folder_remove(path);
}

/* Nobody reads a file again for a name that it has said, whichever process it is for. */
static void what_is_known_needs_no_file(void **state)
{
	bool later;
	__u64 code = addr_of((void *)a_function_of_this_program);
	__u64 eval = addr_of((void *)_PyEval_EvalFrameDefault_part);
	struct modules *mine = modules__new();
	struct native_files *own = native_files__new(mine);
	struct native *first = open_with(own, getpid(), 0), *second = open_with(own, getpid(), 0);
	struct module *m;

	assert_string_equal(find(first, code, NS)->name, "a_function_of_this_program");
	m = native__module(first, code, NS, false);
	assert_false(native_files__is_closed(own, m));
	open_others(own);
	assert_true(native_files__is_closed(own, m));
	assert_string_equal(find(second, code, NS)->name, "a_function_of_this_program");
	assert_false(native__is_eval(second, code, &later));
	assert_true(native_files__is_closed(own, m));
	/* What it has not said yet. */
	assert_true(native__is_eval(second, eval, &later));
	assert_false(native_files__is_closed(own, m));
	close_process(first);
	close_process(second);
	native_files__free(own);
	modules__free(mine);
}

static const char *vdso_function(struct native *n, unsigned long vdso)
{
	cleanup_close int fd = vdso_image();
	struct elf_file f;
	Elf64_Sym symbol;

	assert_int_equal(elf_file_init(&f, fd), 0);
	if (elf_symbol_function(&f, "__vdso_clock_gettime", &symbol))
		assert_int_equal(elf_symbol_function(&f, "__kernel_clock_gettime", &symbol), 0);
	return find(n, vdso + symbol.st_value, NS)->name;
}

static void the_kernels_page_has_its_names(void **state)
{
	unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
	struct native *n = open_process(getpid(), NULL);

	if (!vdso) {
		close_process(n);
		skip();
	}
	/* Its headers are no function. */
	assert_string_equal(find(n, vdso + 64, NS)->name, "[vdso]");
	assert_non_null(strstr(vdso_function(n, vdso), "_clock_gettime"));
	close_process(n);
}

static void what_is_no_code_has_no_function(void **state)
{
	struct native *n = open_process(getpid(), NULL);
	const __u64 addrs[] = { 0, 1, addr_of(&some_data), addr_of(n), 1ULL << 63, ~0ULL };

	for (size_t i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++)
		assert_null(find(n, addrs[i], NS + i * NS));
	close_process(n);
}

static enum module_origin origin_of(struct native *n, __u64 ip)
{
	bool later;

	return native__origin(n, find(n, ip, NS)->module, ip, &later);
}

/* Whatever it is called, and only in the process whose data it has. */
static void the_interpreter_is_in_the_file_of_its_data(void **state)
{
	__u64 code = addr_of((void *)a_function_of_this_program);
	struct modules *mine = modules__new();
	struct native_files *own = native_files__new(mine);
	struct space_config config = { .modules = mine, .pid = getpid(), .alone = true };
	struct native *by_data, *by_file, *other = open_with(own, getpid(), 0);
	struct stat st;

	config.runtime_addr = addr_of(&some_data);
	by_data = keep(own, space__new(&config));
	space__read(space_of(by_data), 0);
	config.runtime_addr = 0;
	assert_int_equal(stat("/proc/self/exe", &st), 0);
	config.runtime_file = file_id_of(&st);
	by_file = keep(own, space__new(&config));
	space__read(space_of(by_file), 0);
	assert_int_equal(origin_of(by_data, code), ORIGIN_INTERPRETER);
	assert_int_equal(origin_of(by_file, code), ORIGIN_INTERPRETER);
	assert_int_equal(origin_of(other, code), ORIGIN_OTHER);
	assert_int_equal(origin_of(by_file, addr_of(dlsym(RTLD_DEFAULT, "a64l"))), ORIGIN_LIBC);
	close_process(by_data);
	close_process(by_file);
	close_process(other);
	native_files__free(own);
	modules__free(mine);
}

/* As CPython's would be called, from a source that is not CPython's. */
void PyTest_Exported(void);
void PyTest_Exported(void)
{
	__asm__ volatile("");
}

/* Its own functions are its own; those with CPython's prefix are CPython's. */
static void an_application_around_an_interpreter_keeps_its_functions(void **state)
{
	bool later;
	struct modules *mine = modules__new();
	struct native_files *own = native_files__new(mine);
	const struct space_config config = { .modules = mine,
					     .pid = getpid(),
					     .runtime_addr = addr_of(&some_data) };
	struct native *n = keep(own, space__new(&config));

	space__read(space_of(n), 0);
	assert_int_equal(origin_of(n, addr_of((void *)PyTest_Exported)), ORIGIN_INTERPRETER);
	assert_int_equal(origin_of(n, addr_of((void *)a_function_of_this_program)), ORIGIN_OTHER);
	assert_false(native__is_eval(n, addr_of((void *)PyTest_Exported), &later));
	close_process(n);
	native_files__free(own);
	modules__free(mine);
}

static void mappings_are_in_order_and_cover_what_they_say(void **state)
{
	struct native *n = open_process(getpid(), NULL);
	const struct mapping *m;
	unsigned cnt;

	m = space__mappings(space_of(n), &cnt);
	assert_true(cnt >= 3); /* this program, the C library, the loader */
	for (unsigned i = 0; i < cnt; i++) {
		assert_true(m[i].start < m[i].end);
		assert_true(!i || m[i - 1].end <= m[i].start);
		assert_non_null(module__name(m[i].module));
	}
	close_process(n);
}

/* A library has been loaded meanwhile: it would be known if the mappings had been read. */
static void data_does_not_make_it_read(void **state)
{
	struct native *n = open_process(getpid(), NULL);
	void *library = dlopen(LATE, RTLD_NOW);
	__u64 now_ns = 10 * NS;
	__u64 before, after;

	if (!library) {
		close_process(n);
		skip();
	}
	before = space__digest(space_of(n));
	for (; now_ns < 20 * NS; now_ns += NATIVE_REFRESH_NS) {
		assert_null(native__module(n, addr_of(&some_data), now_ns, true));
		assert_null(native__module(n, addr_of(&library), now_ns, true));
	}
	after = space__digest(space_of(n));
	assert_int_equal(after, before);
	assert_null(find(n, addr_of(&some_data), now_ns));
	after = space__digest(space_of(n));
	assert_int_not_equal(after, before);
	close_process(n);
	dlclose(library);
}

/* Not reaped yet: its mappings are gone, but what was known of them stays. */
static void a_zombie_keeps_what_was_known(void **state)
{
	__u64 code = addr_of((void *)a_function_of_this_program);
	struct native *n;
	pid_t pid = fork();
	siginfo_t info;

	if (!pid) {
		pause();
		_exit(0);
	}
	n = open_process(pid, NULL);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_null(find(n, 1, 10 * NS));
	assert_string_equal(find(n, code, 20 * NS)->name, "a_function_of_this_program");
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_null(find(n, 1, 30 * NS));
	assert_string_equal(find(n, code, 40 * NS)->name, "a_function_of_this_program");
	close_process(n);
}

/* Asks from then on until the function is found, and returns when. Later if the previous look took long: their time is bounded, too. */
static __u64 found_ns(struct native *n, __u64 code, __u64 now_ns)
{
	const __u64 end_ns = now_ns + 60 * NS;

	while (now_ns < end_ns && !find(n, code, now_ns))
		now_ns += NATIVE_REFRESH_FIRST_NS;
	assert_true(now_ns < end_ns);
	return now_ns;
}

/*
 * For addresses that may not be code, it reads the more rarely the longer they yield nothing;
 * addresses that ran are looked up soon.
 */
static void doubtful_addresses_do_not_make_it_read_all_the_time(void **state)
{
	const __u64 nowhere = 1ULL << 56;
	struct native *n = open_process(getpid(), NULL);
	__u64 now_ns = 10 * NS, seen_ns = 0;
	void *library;
	Dl_info info;

	for (; now_ns < 100 * NS; now_ns += NATIVE_REFRESH_NS)
		assert_null(native__module(n, nowhere, now_ns, true));
	library = dlopen(LATE, RTLD_NOW);
	if (!library || !dladdr(dlsym(library, "__ctype_get_mb_cur_max"), &info)) {
		close_process(n);
		skip();
	}
	for (; !seen_ns && now_ns < 200 * NS; now_ns += NATIVE_REFRESH_NS)
		if (native__module(n, addr_of(info.dli_saddr), now_ns, true))
			seen_ns = now_ns;
	assert_true(seen_ns > 100 * NS + NATIVE_REFRESH_NS);
	assert_true(seen_ns <= 100 * NS + NATIVE_REFRESH_RARE_NS);
	close_process(n);
	dlclose(library);

	n = open_process(getpid(), NULL);
	for (now_ns = 10 * NS; now_ns < 100 * NS; now_ns += NATIVE_REFRESH_NS)
		assert_null(native__module(n, nowhere, now_ns, true));
	library = dlopen(LATE, RTLD_NOW);
	assert_true(dladdr(dlsym(library, "__ctype_get_mb_cur_max"), &info) != 0);
	found_ns(n, addr_of(info.dli_saddr), now_ns + NATIVE_REFRESH_NS);
	close_process(n);
	dlclose(library);
}

/* It rereads the mappings for an unknown address, but not each time. */
static void a_library_that_comes_late_is_found_in_time(void **state)
{
	struct native *n = open_process(getpid(), NULL);
	__u64 before, after;
	void *library;
	Dl_info info;
	__u64 code;

	assert_null(find(n, 1, 10 * NS));
	before = space__digest(space_of(n));
	library = dlopen(LATE, RTLD_NOW);
	if (!library || !dladdr(dlsym(library, "__ctype_get_mb_cur_max"), &info)) {
		close_process(n);
		skip();
	}
	code = addr_of(info.dli_saddr);
	assert_null(find(n, code, 10 * NS + 2 * NATIVE_REFRESH_FIRST_NS - 1));
	after = space__digest(space_of(n));
	assert_int_equal(before, after);
	found_ns(n, code, 10 * NS + 2 * NATIVE_REFRESH_FIRST_NS);
	after = space__digest(space_of(n));
	assert_int_not_equal(before, after);
	close_process(n);
}

static pid_t dead_child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void a_process_that_has_gone_has_no_functions(void **state)
{
	struct native *n = open_process(dead_child(), NULL);
	unsigned cnt;

	assert_null(find(n, addr_of((void *)a_function_of_this_program), NS));
	space__mappings(space_of(n), &cnt);
	assert_int_equal(cnt, 0);
	close_process(n);
	close_process(NULL);
}

/* What it inherited stays right after it has ended, and after the parent has. */
static void a_child_has_its_parents_mappings(void **state)
{
	struct native *parent = open_process(getpid(), NULL);
	struct native *child = keep(files, space__fork(space_of(parent), NULL, dead_child()));
	__u64 code = addr_of((void *)a_function_of_this_program);

	assert_non_null(child);
	close_process(parent);
	assert_string_equal(find(child, code, NS)->name, "a_function_of_this_program");
	assert_null(find(child, 1, 2 * NS));
	assert_string_equal(find(child, code, 3 * NS)->name, "a_function_of_this_program");
	close_process(child);
}

/* Each has modules of its own: they remember when mappings were read last, and each test has its own time. */
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(code_has_the_name_of_its_function),
		TEST(only_the_interpreter_evaluates),
		TEST(a_name_that_does_not_come_now_comes_later),
		TEST(what_is_known_needs_no_file),
		TEST(the_kernels_page_has_its_names),
		TEST(what_is_no_code_has_no_function),
		TEST(the_interpreter_is_in_the_file_of_its_data),
		TEST(an_application_around_an_interpreter_keeps_its_functions),
		TEST(mappings_are_in_order_and_cover_what_they_say),
		TEST(data_does_not_make_it_read),
		TEST(a_zombie_keeps_what_was_known),
		TEST(doubtful_addresses_do_not_make_it_read_all_the_time),
		TEST(a_library_that_comes_late_is_found_in_time),
		TEST(a_process_that_has_gone_has_no_functions),
		TEST(a_child_has_its_parents_mappings),
	};

	become_worker(argv);
	return cmocka_run_group_tests_name("user/native/names/native.c", tests, NULL, NULL);
}
