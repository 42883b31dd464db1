/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "py_debug_tables.h"
#include "support_elf.h"
#include "support_folder.h"
#include "support_roles.h"
#include "process/identify/elf_cache.h"

struct fixture {
	struct elf_cache *cache;
	char dir[TEST_FOLDER_MAX];
	char path[TEST_FOLDER_MAX + 8];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->cache = elf_cache__new();
	test_folder_make(f->dir);
	snprintf(f->path, sizeof(f->path), "%s/file", f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	test_folder_remove(f->dir);
	elf_cache__free(f->cache);
	free(f);
	return 0;
}

static struct elf_spec python_spec(void)
{
	return (struct elf_spec){
		.section = true,
		.table = py_debug_table_3_15_2,
		.table_len = sizeof(py_debug_table_3_15_2),
		.build_id = 0x11,
	};
}

static void write_file(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
}

static void write_elf(const char *path, const struct elf_spec *spec)
{
	__u8 *image = elf_image_new(spec);

	write_file(path, image, ELF_IMAGE_SIZE);
	free(image);
}

static int get(struct fixture *f, const struct elf_runtime **ret)
{
	struct stat st;

	assert_int_equal(stat(f->path, &st), 0);
	return elf_cache__get(f->cache, f->path, &st, ret);
}

static void an_unchanged_file_is_opened_once(void **state)
{
	struct fixture *f = *state;
	const struct elf_cache_stats *stats = elf_cache__stats(f->cache);
	const struct elf_runtime *e;
	struct elf_spec spec = python_spec();

	write_elf(f->path, &spec);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(get(f, &e), 0);
		assert_memory_equal(e->table, py_debug_table_3_15_2, sizeof(py_debug_table_3_15_2));
	}
	assert_int_equal(stats->opened, 1);
	assert_int_equal(stats->hits, 9);
}

static void a_file_without_runtime_is_remembered_too(void **state)
{
	struct fixture *f = *state;
	const struct elf_runtime *e;

	write_file(f->path, "no elf file", 11);
	for (int i = 0; i < 10; i++)
		assert_int_equal(get(f, &e), -ENOEXEC);
	assert_int_equal(elf_cache__stats(f->cache)->opened, 1);
}

static void a_changed_file_is_read_again(void **state)
{
	struct fixture *f = *state;
	const struct elf_runtime *e;
	struct elf_spec spec = python_spec();

	write_file(f->path, "no elf file", 11);
	assert_int_equal(get(f, &e), -ENOEXEC);
	write_elf(f->path, &spec);
	assert_int_equal(get(f, &e), 0);
	spec.vaddr = 0x400000;
	unlink(f->path);
	write_elf(f->path, &spec);
	assert_int_equal(get(f, &e), 0);
	assert_int_equal(e->load_vaddr, 0x400000);
}

/* Same build ID, size, headers and table, but one section header differs. */
static void a_copy_says_nothing_of_another(void **state)
{
	struct fixture *f = *state;
	const struct elf_runtime *e;
	struct elf_spec spec = python_spec();
	__u8 *image = elf_image_new(&spec);
	Elf64_Shdr *shdrs = (Elf64_Shdr *)(image + ((Elf64_Ehdr *)image)->e_shoff);
	__u64 vaddr = 0;

	for (int i = 0; i < ((Elf64_Ehdr *)image)->e_shnum; i++) {
		if (!(shdrs[i].sh_flags & SHF_WRITE))
			continue;
		vaddr = shdrs[i].sh_addr;
		shdrs[i].sh_addr += 64;
	}
	assert_true(vaddr > 0);
	write_file(f->path, image, ELF_IMAGE_SIZE);
	free(image);
	assert_int_equal(get(f, &e), 0);
	assert_int_equal(e->runtime_vaddr, vaddr + 64);
	unlink(f->path);
	write_elf(f->path, &spec);
	assert_int_equal(get(f, &e), 0);
	assert_int_equal(e->runtime_vaddr, vaddr);
	assert_memory_equal(e->table, py_debug_table_3_15_2, sizeof(py_debug_table_3_15_2));
}

/* What processes of one copy have proved does not count for the other. */
static void a_proof_is_of_one_file(void **state)
{
	struct fixture *f = *state;
	static const struct py_offsets offsets = { .version = 0x030b02f0 };
	const struct elf_runtime *e;
	struct elf_spec spec = python_spec();

	spec.table = NULL;
	spec.table_len = 0;
	write_elf(f->path, &spec);
	assert_int_equal(get(f, &e), 0);
	elf_cache__keep(f->cache, e, &offsets, PY_SOURCE_TABLE);
	assert_int_equal(get(f, &e), 0);
	assert_int_equal(e->proved_by, PY_SOURCE_TABLE);
	unlink(f->path);
	write_elf(f->path, &spec);
	assert_int_equal(get(f, &e), 0);
	assert_int_equal(e->proved_by, PY_SOURCE_NONE);
}

static void more_runtimes_than_places_are_still_right(void **state)
{
	struct fixture *f = *state;
	const struct elf_runtime *e;

	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 100; i++) {
			struct elf_spec spec = python_spec();

			spec.build_id = (__u8)i;
			spec.vaddr = 0x10000ULL * (__u64)i;
			write_elf(f->path, &spec);
			assert_int_equal(get(f, &e), 0);
			assert_int_equal(e->load_vaddr, 0x10000 * i);
			assert_int_equal(e->build_id[0], i);
		}
}

static unsigned open_cnt(void)
{
	unsigned cnt = 0;

	for (int fd = 0; fd < 1024; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return cnt;
}

/* Otherwise a new file that gets a known file's inode number would be taken for it. */
static void a_file_with_a_runtime_keeps_its_inode(void **state)
{
	struct fixture *f = *state;
	const struct elf_runtime *e;
	struct elf_spec spec = python_spec();
	unsigned before;
	struct stat st;
	__u64 ino;

	/* The parser is running by then. */
	write_file(f->path, "no elf file", 11);
	assert_int_equal(get(f, &e), -ENOEXEC);
	before = open_cnt();
	write_elf(f->path, &spec);
	assert_int_equal(get(f, &e), 0);
	ino = e->id.ino;
	assert_int_equal(open_cnt(), before + 1);
	for (int i = 0; i < 200; i++) {
		unlink(f->path);
		write_file(f->path, "no elf file", 11);
		assert_int_equal(stat(f->path, &st), 0);
		assert_true(st.st_ino != ino);
		assert_int_equal(get(f, &e), -ENOEXEC);
	}
	assert_int_equal(open_cnt(), before + 1);
	for (int i = 0; i < 200; i++) {
		unlink(f->path);
		write_elf(f->path, &spec);
		assert_int_equal(get(f, &e), 0);
	}
	assert_in_range(open_cnt(), before + 2, before + 64);
}

/* The largest holder loses first. */
static void what_is_let_go_is_read_again(void **state)
{
	struct fixture *f = *state;
	struct elf_spec spec = python_spec();
	const struct elf_runtime *e;
	unsigned before;

	write_elf(f->path, &spec);
	assert_int_equal(get(f, &e), 0);
	before = open_cnt();
	elf_cache__let_go(f->cache);
	assert_int_equal(open_cnt(), before - 1);
	assert_int_equal(get(f, &e), 0);
	assert_int_equal(get(f, &e), 0);
	assert_int_equal(open_cnt(), before);
	assert_int_equal(elf_cache__stats(f->cache)->opened, 2);
}

static void many_files_of_one_user_do_not_push_out_anothers(void **state)
{
	struct fixture *f = *state;
	const struct elf_cache_stats *stats = elf_cache__stats(f->cache);
	const struct elf_runtime *e;
	struct elf_spec spec = python_spec();
	char path[80];
	struct stat st;
	__u64 opened;

	if (geteuid()) {
		print_message("# skipped: only root can make files of others\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s-of-root", f->path);
	write_elf(path, &spec);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(elf_cache__get(f->cache, path, &st, &e), 0);
	for (int i = 0; i < 300; i++) {
		unlink(f->path);
		write_elf(f->path, &spec);
		assert_int_equal(chown(f->path, 65534, 65534), 0);
		assert_int_equal(get(f, &e), 0);
	}
	opened = stats->opened;
	assert_int_equal(elf_cache__get(f->cache, path, &st, &e), 0);
	assert_int_equal(stats->opened, opened);
	unlink(path);
}

/* The identity is what the caller saw: the file itself cannot be asked. */
static void many_files_do_not_grow_it(void **state)
{
	struct fixture *f = *state;
	const struct elf_runtime *e;

	write_file(f->path, "no elf file", 11);
	for (int i = 0; i < 20000; i++) {
		struct timespec times[2] = { { .tv_sec = i }, { .tv_sec = i } };

		assert_int_equal(utimensat(AT_FDCWD, f->path, times, 0), 0);
		assert_int_equal(get(f, &e), -ENOEXEC);
	}
	assert_true(elf_cache__stats(f->cache)->evicted > 10000);
}

static void a_device_or_fifo_is_not_opened(void **state)
{
	struct fixture *f = *state;
	const struct elf_runtime *e;

	assert_int_equal(mkfifo(f->path, 0600), 0);
	assert_int_equal(get(f, &e), -ENOEXEC);
	assert_int_equal(elf_cache__stats(f->cache)->opened, 0);
}

static void a_file_that_is_gone_is_not_remembered(void **state)
{
	struct fixture *f = *state;
	const struct elf_runtime *e;
	struct elf_spec spec = python_spec();
	struct stat st;

	write_elf(f->path, &spec);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(elf_cache__get(f->cache, "/tmp/krait-no-such-file", &st, &e), -ENOENT);
	assert_int_equal(elf_cache__get(f->cache, f->path, &st, &e), 0);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_unchanged_file_is_opened_once),
		TEST(a_file_without_runtime_is_remembered_too),
		TEST(a_changed_file_is_read_again),
		TEST(a_copy_says_nothing_of_another),
		TEST(a_proof_is_of_one_file),
		TEST(more_runtimes_than_places_are_still_right),
		TEST(many_files_do_not_grow_it),
		TEST(a_file_with_a_runtime_keeps_its_inode),
		TEST(what_is_let_go_is_read_again),
		TEST(many_files_of_one_user_do_not_push_out_anothers),
		TEST(a_device_or_fifo_is_not_opened),
		TEST(a_file_that_is_gone_is_not_remembered),
	};

	become_worker(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
