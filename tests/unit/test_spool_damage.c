/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_spool_damage.c - how a spool handles files left by others, by a full disk, or by a kill.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/export/spool_format.h"
#include "support_spool.h"

static int used_disk(__u64 *size)
{
	struct stat st;

	for (unsigned i = 0; i < SPOOL_SEGMENTS; i++) {
		assert_int_equal(fstat(test_files.disk[i], &st), 0);
		*size = (__u64)st.st_size;
		if (st.st_size)
			return test_files.disk[i];
	}
	fail();
	return -1;
}

static void a_tail_torn_at_every_byte_is_cut(void **state)
{
	__u64 size, two;
	int cursor, fd;
	char all[4096];
	struct spool *s = spool_test_open(&cursor);

	spool_test_append(s, 1, 33);
	spool_test_append(s, 2, 40);
	fd = used_disk(&two);
	spool_test_append(s, 3, 57);
	spool__close(s);
	fd = used_disk(&size);
	assert_int_equal(pread(fd, all, sizeof(all), 0), size);
	for (__u64 cut = two; cut < size; cut++) {
		struct spool_counts counts;

		assert_int_equal(pwrite(fd, all, size, 0), size);
		assert_int_equal(ftruncate(fd, (off_t)cut), 0);
		assert_int_equal(ftruncate(test_files.cursors, 0), 0);
		s = spool_test_open(&cursor);
		spool__counts(s, &counts);
		assert_int_equal(counts.torn, cut > two);
		assert_int_equal(counts.bytes, two);
		assert_int_equal(spool_test_append(s, 4, 5), 0); /* after what is left */
		assert_int_equal(spool_test_take(s, cursor), 1);
		assert_int_equal(spool_test_take(s, cursor), 2);
		assert_int_equal(spool_test_take(s, cursor), 4);
		assert_int_equal(spool_test_take(s, cursor), 0);
		spool__close(s);
	}
}

/* Any changed byte except padding zeroes: at most its own record is lost, and that is reported. */
static void a_byte_that_changes_costs_its_record_only(void **state)
{
	__u64 size, ends[4] = { 0 };
	int cursor, fd = -1;
	char all[4096];
	struct spool *s = spool_test_open(&cursor);

	ends[0] = sizeof(struct spool_segment_header);
	for (__u32 n = 1; n <= 3; n++) {
		spool_test_append(s, n, 40); /* 80 + 3 + 40: padded if n is odd */
		fd = used_disk(&ends[n]);
	}
	spool__close(s);
	size = ends[3];
	assert_int_equal(pread(fd, all, sizeof(all), 0), size);
	for (__u64 i = ends[0]; i < size; i++) {
		unsigned hit = i < ends[1] ? 1 : i < ends[2] ? 2 : 3;
		unsigned used = 80 + (hit % 2 ? 3 : 0) + 40;
		bool harmless = i - ends[hit - 1] >= used;
		struct spool_counts counts;
		char changed = (char)(all[i] ^ 0x10);

		assert_int_equal(pwrite(fd, all, size, 0), size);
		assert_int_equal(ftruncate(fd, (off_t)size), 0);
		assert_int_equal(pwrite(fd, &changed, 1, (off_t)i), 1);
		assert_int_equal(ftruncate(test_files.cursors, 0), 0);
		s = spool_test_open(&cursor);
		for (unsigned n = 1; n <= 3; n++)
			if (n != hit || harmless)
				assert_int_equal(spool_test_take(s, cursor), n);
		assert_int_equal(spool_test_take(s, cursor), 0);
		spool__counts(s, &counts);
		assert_int_equal(counts.spoilt + counts.torn, harmless ? 0 : 1);
		spool__close(s);
	}
}

static void a_body_cannot_pretend_to_be_a_record(void **state)
{
	struct spool_record_header fake = { .seq = 50,
					    .kind = EXPORT_OTLP_PROFILES,
					    .samples = 9999 };
	__u8 body[512];
	struct spool_batch b = {
		.batch = { .samples = 7, .body = body, .len = sizeof(body), .id = { 7 } },
		.raw_len = sizeof(body),
	};
	int cursor, fd;
	__u64 size;
	struct spool *s = spool_test_open(&cursor);

	spool_record_seal(&fake, "", "");
	for (size_t i = 0; i + sizeof(fake) <= sizeof(body); i += sizeof(fake))
		memcpy(body + i, &fake, sizeof(fake));
	assert_int_equal(spool__append(s, &b), 0);
	spool_test_append(s, 2, 10);
	spool__close(s);
	fd = used_disk(&size);
	assert_int_equal(pwrite(fd, "x", 1, sizeof(struct spool_segment_header) + 20), 1);
	s = spool_test_open(&cursor);
	assert_int_equal(spool_test_take(s, cursor), 2);
	assert_int_equal(spool_test_take(s, cursor), 0);
	spool__close(s);
}

/* A limit on file sizes stands for a full disk. *ret: for make_room(). */
static void fill_disk(struct rlimit *ret)
{
	struct rlimit little = { 20000, RLIM_INFINITY };

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, ret), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
}

static void make_room(const struct rlimit *before)
{
	assert_int_equal(setrlimit(RLIMIT_FSIZE, before), 0);
}

static void a_full_disk_means_memory(void **state)
{
	struct spool_counts counts;
	struct rlimit before;
	int cursor;
	struct spool *s = spool_test_open(&cursor);

	assert_int_equal(spool_test_append(s, 1, 15000), 0);
	fill_disk(&before);
	/* The disk's segment is full; the memory's is new and has room for one more record. */
	assert_int_equal(spool_test_append(s, 2, 15000), 0);
	spool__counts(s, &counts);
	assert_true(counts.disk_full);
	assert_int_equal(counts.errors, 1);
	assert_int_equal(spool_test_append(s, 3, 15000), -EFBIG); /* both are */
	assert_int_equal(spool__cursor_at(s, cursor)->dropped, 1);
	make_room(&before);
	assert_int_equal(spool_test_append(s, 4, 15000), 0);
	spool__counts(s, &counts);
	assert_false(counts.disk_full);
	{
		__u64 batches, samples;

		spool__in_memory(s, cursor, &batches, &samples);
		assert_int_equal(batches, 1);
		assert_int_equal(samples, 2);
	}
	/* A restarted worker finds both, in order. */
	spool__close(s);
	s = spool_test_open(&cursor);
	assert_int_equal(spool_test_take(s, cursor), 1);
	assert_int_equal(spool_test_take(s, cursor), 2);
	assert_int_equal(spool_test_take(s, cursor), 4);
	assert_int_equal(spool_test_take(s, cursor), 0);
	spool__close(s);
}

static void a_full_disk_is_used_again_once_all_is_delivered(void **state)
{
	struct spool_counts counts;
	struct rlimit before;
	int cursor;
	struct spool *s = spool_test_open(&cursor);

	fill_disk(&before);
	for (__u32 n = 1; n <= 5; n++) {
		assert_int_equal(spool_test_append(s, n, 15000), 0);
		assert_int_equal(spool_test_take(s, cursor), n);
		spool__counts(s, &counts);
		assert_false(counts.disk_full);
		assert_int_equal(counts.memory_bytes, 0);
	}
	make_room(&before);
	spool__close(s);
}

static void what_is_dropped_on_its_way_may_arrive(void **state)
{
	struct spool_entry e;
	int cursor;
	struct spool *s = spool_test_open(&cursor);

	spool_test_append(s, 1, 100000);
	e = *spool__next(s, cursor);
	for (__u32 n = 2; n <= 60; n++)
		spool_test_append(s, n, 100000);
	assert_true(spool__cursor_at(s, cursor)->dropped > 1);
	spool__done(s, cursor, &e);
	assert_int_equal(
		spool__cursor_at(s, cursor)->dropped + spool__cursor_at(s, cursor)->pending, 59);
	assert_int_equal(spool__cursor_at(s, cursor)->dropped_samples +
				 spool__cursor_at(s, cursor)->pending_samples,
			 60 * 61 / 2 - 1);
	spool__close(s);
}

/* Killed at any moment: everything it had confirmed is there. */
static void a_kill_loses_nothing_that_was_taken(void **state)
{
	for (unsigned round = 0; round < 5; round++) {
		int said[2], cursor;
		__u32 n, last = 0;
		struct spool *s;
		pid_t pid;

		assert_int_equal(pipe(said), 0);
		pid = fork();
		if (!pid) {
			s = spool_test_open(&cursor);
			for (n = 1 + 100000 * round; n % 100000 < 1500; n++) {
				if (spool_test_append(s, n, 2000) ||
				    write(said[1], &n, sizeof(n)) < 0)
					_exit(1);
			}
			pause();
		}
		close(said[1]);
		usleep(3000 * (round + 1));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (read(said[0], &n, sizeof(n)) == sizeof(n))
			last = n;
		close(said[0]);
		s = spool_test_open(&cursor);
		n = 100000 * round;
		for (__u32 got = spool_test_take(s, cursor); got; got = spool_test_take(s, cursor))
			assert_int_equal(got, ++n);
		assert_true(n >= last); /* one more may be there that it had no time to confirm */
		spool__close(s);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, spool_test_set_up, spool_test_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_tail_torn_at_every_byte_is_cut),
		TEST(a_byte_that_changes_costs_its_record_only),
		TEST(a_body_cannot_pretend_to_be_a_record),
		TEST(a_full_disk_means_memory),
		TEST(a_full_disk_is_used_again_once_all_is_delivered),
		TEST(what_is_dropped_on_its_way_may_arrive),
		TEST(a_kill_loses_nothing_that_was_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
