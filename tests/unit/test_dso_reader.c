/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_dso_reader.c - the file in place of a capture's DSO may be anything: what is not krait's DSO
 * is refused without reading it or blocking, and one that changes during use does no harm.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/dso/dso.h"
#include "capture/dso/dso_reader.h"
#include "support_profile.h"

static char path[64];

/* Writes a DSO with one function, whose address goes to *ret. */
static void write_dso(__u64 *ret)
{
	struct profile *p = profile__new();
	struct dso *d = dso__new();
	__u32 frame = add_function(p, "work", "/app/work.py", 3, 4);
	int fd;

	strcpy(path, "/tmp/krait-test-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	*ret = dso__address(d, p->dict, frame) - DSO_BASE;
	assert_int_equal(dso__write(d, 0, p->dict, "interrupts 7\n", fd), 0);
	close(fd);
	dso__free(d);
	profile__free(p);
}

static int try_open(const char *file)
{
	struct dso_reader *r = NULL;
	int err = dso_reader__open(&r, file, NULL, 0);

	dso_reader__free(r);
	return err;
}

static void a_dso_of_krait_is_read(void **state)
{
	struct dict *dict = dict__new(profile_limits_default());
	struct profile_frame place;
	struct dso_reader *r;
	__u64 at, value = 0;

	write_dso(&at);
	assert_int_equal(dso_reader__open(&r, path, NULL, 0), 0);
	assert_true(dso_reader__find(r, dict, at, &place));
	assert_string_equal(dict__text(dict, place.name), "work");
	assert_string_equal(dict__text(dict, place.file), "/app/work.py");
	assert_int_equal(place.line, 4);
	assert_true(dso_reader__note(r, "interrupts", &value));
	assert_int_equal(value, 7);
	dict__free(dict);
	dso_reader__free(r);
	unlink(path);
}

static void one_that_is_cut_in_use_harms_nobody(void **state)
{
	struct dict *dict = dict__new(profile_limits_default());
	struct profile_frame place;
	struct dso_reader *r;
	__u64 at;

	write_dso(&at);
	assert_int_equal(dso_reader__open(&r, path, NULL, 0), 0);
	assert_int_equal(truncate(path, 100), 0);
	/* This used to give SIGBUS. */
	if (dso_reader__find(r, dict, at, &place))
		assert_true(strlen(dict__text(dict, place.name)) +
				    strlen(dict__text(dict, place.file)) <
			    1000);
	dict__free(dict);
	dso_reader__free(r);
	assert_int_equal(try_open(path), -ENOEXEC);
	unlink(path);
}

static void what_is_no_regular_file_is_not_opened(void **state)
{
	char fifo[80], link[80];
	__u64 at;

	write_dso(&at);
	snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	snprintf(link, sizeof(link), "%s.link", path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink("/dev/zero", link), 0);
	assert_int_equal(try_open(fifo), -ENOEXEC);
	assert_int_equal(try_open(link), -ENOEXEC);
	assert_int_equal(try_open("/"), -ENOEXEC);
	assert_int_equal(try_open("/nowhere/python-12345678.so"), -ENOENT);
	unlink(fifo);
	unlink(link);
	unlink(path);
}

static void what_is_too_large_is_not_read(void **state)
{
	__u64 at;

	write_dso(&at);
	assert_int_equal(truncate(path, 65LL << 20), 0);
	assert_int_equal(try_open(path), -ENOEXEC);
	unlink(path);
}

/* Marks .debug_info as compressed. */
static void compressed_sections_are_refused(void **state)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;
	__u64 at, place;
	int fd;

	write_dso(&at);
	assert_int_equal(try_open(path), 0);
	fd = open(path, O_RDWR);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	place = header.e_shoff + 5 * sizeof(section);
	assert_int_equal(pread(fd, &section, sizeof(section), (off_t)place), sizeof(section));
	section.sh_flags |= SHF_COMPRESSED;
	assert_int_equal(pwrite(fd, &section, sizeof(section), (off_t)place), sizeof(section));
	close(fd);
	assert_int_equal(try_open(path), -ENOEXEC);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dso_of_krait_is_read),
		cmocka_unit_test(one_that_is_cut_in_use_harms_nobody),
		cmocka_unit_test(what_is_no_regular_file_is_not_opened),
		cmocka_unit_test(what_is_too_large_is_not_read),
		cmocka_unit_test(compressed_sections_are_refused),
	};

	return cmocka_run_group_tests_name("dso_reader", tests, NULL, NULL);
}
