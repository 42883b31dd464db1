/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_mapped_image.c - files as a process's memory has them: what is loaded of them can be read
 * like the file.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "process/elf/elf_file.h"
#include "process/elf/elf_symbol.h"
#include "process/memory/mapped_image.h"
#include "process/proc/proc.h"
#include "process/memory/remote.h"
#include "base/data/cleanup.h"

static int image_of(const void *at, __u64 *budget)
{
	cleanup_close int dir = proc_open(getpid());
	cleanup_remote struct remote *remote = remote__open_at(dir, false);

	assert_non_null(remote);
	return mapped_image(dir, remote__memory(remote), (__u64)(uintptr_t)at, budget);
}

/* The C library has been relocated: its dynamic segment no longer says what it says in the file. */
static void a_loaded_library_has_its_symbols(void **state)
{
	__u64 budget = MAPPED_IMAGE_MAX;
	const void *function = dlsym(RTLD_DEFAULT, "a64l");
	struct elf_file image, file;
	Elf64_Sym in_image, in_file;
	Dl_info info;
	int fd, there;

	assert_true(dladdr(function, &info));
	fd = image_of(info.dli_fbase, &budget);
	assert_true(fd >= 0);
	assert_true(budget < MAPPED_IMAGE_MAX);
	there = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_file_init(&image, fd), 0);
	assert_int_equal(elf_file_init(&file, there), 0);
	assert_int_equal(elf_symbol_function(&image, "a64l", &in_image), 0);
	assert_int_equal(elf_symbol_function(&file, "a64l", &in_file), 0);
	assert_int_equal(in_image.st_value, in_file.st_value);
	assert_int_equal(in_image.st_size, in_file.st_size);
	assert_int_equal(image.ehdr.e_shnum, 0);
	close(fd);
	close(there);
}

static void what_is_no_file_has_no_image(void **state)
{
	__u64 budget = MAPPED_IMAGE_MAX;
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_int_equal(image_of(page, &budget), -ENOENT);
	assert_int_equal(budget, MAPPED_IMAGE_MAX);
	munmap(page, 4096);
}

static void there_is_a_bound(void **state)
{
	__u64 budget = 8192;

	assert_int_equal(image_of(dlsym(RTLD_DEFAULT, "a64l"), &budget), -E2BIG);
}

/* Any bytes may be mapped as the beginning of a file, at any place. */
static void a_file_that_is_no_program_is_copied_as_it_is(void **state)
{
	char text[8192] = "\177ELF", got[8192], name[] = "/tmp/krait-test-XXXXXX";
	__u64 budget = MAPPED_IMAGE_MAX;
	int fd = mkstemp(name), image;
	void *at;

	assert_true(fd >= 0);
	unlink(name);
	for (size_t i = 16; i < sizeof(text); i++)
		text[i] = (char)rand();
	assert_int_equal(write(fd, text, sizeof(text)), (ssize_t)sizeof(text));
	at = mmap(NULL, sizeof(text), PROT_READ, MAP_PRIVATE, fd, 0);
	image = image_of(at, &budget);
	assert_true(image >= 0);
	assert_int_equal(pread(image, got, sizeof(got), 0), (ssize_t)sizeof(got));
	assert_memory_equal(got, text, sizeof(text));
	munmap(at, sizeof(text));
	close(image);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loaded_library_has_its_symbols),
		cmocka_unit_test(what_is_no_file_has_no_image),
		cmocka_unit_test(there_is_a_bound),
		cmocka_unit_test(a_file_that_is_no_program_is_copied_as_it_is),
	};

	return cmocka_run_group_tests_name("user/process/memory/mapped_image.c", tests, NULL, NULL);
}
