/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_spool.c - batches in files: order, bounds, torn tails, spoilt bytes, a full disk, a kill in the middle.
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
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "export/spool.h"
#include "export/spool_format.h"

#define KEY 77U
#define KEY2 78U

static struct spool_files files;

static int make_files(void **state)
{
	files = (struct spool_files){ .disk_limit = 4 << 20, .memory_limit = 4 << 20 };
	for (unsigned i = 0; i < SPOOL_SEGMENTS; i++) {
		files.disk[i] = memfd_create("disk", MFD_CLOEXEC);
		files.memory[i] = memfd_create("memory", MFD_CLOEXEC);
	}
	files.cursors = memfd_create("cursors", MFD_CLOEXEC);
	return files.cursors < 0;
}

static int close_files(void **state)
{
	for (unsigned i = 0; i < SPOOL_SEGMENTS; i++) {
		close(files.disk[i]);
		close(files.memory[i]);
	}
	close(files.cursors);
	return 0;
}

static struct spool *open_one(int *cursor)
{
	static const __u64 keys[] = { KEY };
	struct spool *s = spool__open(&files);

	assert_non_null(s);
	*cursor = spool__cursor(s, KEY, EXPORT_OTLP_PROFILES, keys, 1);
	assert_true(*cursor >= 0);
	return s;
}

/* Batch n has n samples, a body that says so, and a size of its own. */
static int append(struct spool *s, __u32 n, size_t len)
{
	char *body = malloc(len);
	struct spool_batch b = {
		.batch = { .kind = EXPORT_OTLP_PROFILES,
			   .from_unix_ns = 1000 + n,
			   .to_unix_ns = 2000 + n,
			   .samples = n,
			   .query = n % 2 ? "a=b" : NULL,
			   .body = body,
			   .len = len },
		.raw_len = (__u32)len,
	};
	int err;

	assert_non_null(body);
	memset(body, (int)n, len);
	memcpy(b.batch.id, &n, sizeof(n));
	b.batch.id[15] = 1;
	err = spool__append(s, &b);
	free(body);
	return err;
}

/* What the cursor says, checked, and done with. 0: nothing there. */
static __u32 take(struct spool *s, int cursor)
{
	const struct spool_entry *next = spool__next(s, cursor);
	struct spool_entry e;
	struct spool_batch b;
	void *buffer;
	__u32 n;

	if (!next)
		return 0;
	e = *next;
	if (spool__read(s, &e, &b, &buffer)) {
		spool__spoilt(s, cursor, &e);
		return take(s, cursor);
	}
	memcpy(&n, b.batch.id, sizeof(n));
	assert_int_equal(b.batch.samples, n);
	assert_int_equal(b.batch.from_unix_ns, 1000 + n);
	assert_int_equal(b.batch.to_unix_ns, 2000 + n);
	assert_int_equal(b.batch.len, b.raw_len);
	if (n % 2)
		assert_string_equal(b.batch.query, "a=b");
	else
		assert_null(b.batch.query);
	for (size_t i = 0; i < b.batch.len; i++)
		assert_int_equal(((const __u8 *)b.batch.body)[i], (__u8)n);
	free(buffer);
	spool__done(s, cursor, &e);
	return n;
}

static const struct spool_cursor *at(struct spool *s, int cursor)
{
	return spool__cursor_at(s, cursor);
}

static void in_order_over_restarts(void **state)
{
	int cursor;
	struct spool *s = open_one(&cursor);

	for (__u32 n = 1; n <= 10; n++)
		assert_int_equal(append(s, n, 100 * n), 0);
	assert_int_equal(at(s, cursor)->pending, 10);
	assert_int_equal(at(s, cursor)->pending_samples, 55);
	for (__u32 n = 1; n <= 4; n++)
		assert_int_equal(take(s, cursor), n);
	spool__close(s);
	s = open_one(&cursor);
	assert_int_equal(at(s, cursor)->pending, 6);
	assert_int_equal(append(s, 11, 1), 0);
	for (__u32 n = 5; n <= 11; n++)
		assert_int_equal(take(s, cursor), n);
	assert_int_equal(take(s, cursor), 0);
	assert_int_equal(at(s, cursor)->pending_bytes, 0);
	spool__close(s);
}

static void the_same_id_is_the_same_batch(void **state)
{
	int cursor;
	struct spool *s = open_one(&cursor);

	assert_int_equal(append(s, 1, 10), 0);
	spool__close(s);
	s = open_one(&cursor);
	assert_int_equal(append(s, 1, 10), 0);
	assert_int_equal(at(s, cursor)->pending, 1);
	spool__close(s);
}

static void the_oldest_goes_and_is_counted(void **state)
{
	struct spool_counts counts;
	__u32 n, first;
	int cursor;
	struct spool *s = open_one(&cursor);

	for (n = 1; n <= 100; n++) {
		assert_int_equal(append(s, n, 100000), 0);
		spool__counts(s, &counts);
		assert_true(counts.bytes <= files.disk_limit);
	}
	assert_true(at(s, cursor)->pending >= 36);
	assert_int_equal(at(s, cursor)->pending + at(s, cursor)->dropped, 100);
	assert_int_equal(at(s, cursor)->pending_samples + at(s, cursor)->dropped_samples, 5050);
	first = (__u32)at(s, cursor)->dropped + 1;
	for (n = first; n <= 100; n++)
		assert_int_equal(take(s, cursor), n);
	assert_int_equal(take(s, cursor), 0);
	spool__close(s);
}

static void what_is_larger_than_the_spool_is_dropped(void **state)
{
	int cursor;
	struct spool *s;

	files.disk_limit = files.memory_limit = 100000;
	s = open_one(&cursor);
	assert_int_equal(append(s, 1, 1000), 0);
	assert_int_equal(append(s, 2, 100000), -ENOSPC);
	assert_int_equal(at(s, cursor)->dropped, 1);
	assert_int_equal(at(s, cursor)->dropped_samples, 2);
	assert_int_equal(take(s, cursor), 1);
	assert_int_equal(take(s, cursor), 0);
	spool__close(s);
}

static void restarts_use_no_segments(void **state)
{
	struct spool *s;
	int cursor;

	for (__u32 n = 1; n <= 3 * SPOOL_SEGMENTS; n++) {
		s = open_one(&cursor);
		assert_int_equal(append(s, n, 100), 0);
		assert_int_equal(at(s, cursor)->dropped, 0);
		assert_int_equal(at(s, cursor)->pending, n);
		spool__close(s);
	}
}

static void delivered_segments_are_emptied(void **state)
{
	struct spool_counts counts;
	int cursor;
	struct spool *s = open_one(&cursor);

	for (__u32 n = 1; n <= 200; n++) {
		assert_int_equal(append(s, n, 50000), 0);
		assert_int_equal(take(s, cursor), n);
		spool__counts(s, &counts);
		assert_true(counts.bytes < files.disk_limit / 4);
	}
	assert_int_equal(at(s, cursor)->dropped, 0);
	spool__close(s);
}

static void a_slow_destination_keeps_what_it_needs(void **state)
{
	static const __u64 keys[] = { KEY, KEY2 };
	struct spool *s = spool__open(&files);
	int fast = spool__cursor(s, KEY, EXPORT_OTLP_PROFILES, keys, 2);
	int slow = spool__cursor(s, KEY2, EXPORT_OTLP_PROFILES, keys, 2);

	for (__u32 n = 1; n <= 30; n++) {
		assert_int_equal(append(s, n, 100000), 0);
		assert_int_equal(take(s, fast), n);
	}
	for (__u32 n = 1; n <= 30; n++)
		assert_int_equal(take(s, slow), n);
	spool__close(s);
}

static void a_destination_that_moved_inherits(void **state)
{
	static const __u64 moved[] = { KEY2 };
	int cursor;
	struct spool *s = open_one(&cursor);

	for (__u32 n = 1; n <= 5; n++)
		append(s, n, 10);
	assert_int_equal(take(s, cursor), 1);
	spool__close(s);
	s = spool__open(&files);
	cursor = spool__cursor(s, KEY2, EXPORT_OTLP_PROFILES, moved, 1);
	assert_int_equal(take(s, cursor), 2);
	spool__close(s);
}

static void another_destination_begins_now(void **state)
{
	static const __u64 keys[] = { KEY, KEY2 };
	int first, second;
	struct spool *s = open_one(&first);

	append(s, 1, 10);
	spool__close(s);
	s = spool__open(&files);
	first = spool__cursor(s, KEY, EXPORT_OTLP_PROFILES, keys, 2);
	second = spool__cursor(s, KEY2, EXPORT_OTLP_PROFILES, keys, 2);
	append(s, 2, 10);
	assert_int_equal(take(s, first), 1);
	assert_int_equal(take(s, second), 2);
	spool__close(s);
}

static void a_destination_that_is_gone_holds_nothing(void **state)
{
	static const __u64 both[] = { KEY, KEY2 }, other[] = { KEY, 79 };
	struct spool_counts counts;
	int cursor, gone, new;
	struct spool *s = spool__open(&files);

	cursor = spool__cursor(s, KEY, EXPORT_OTLP_PROFILES, both, 2);
	gone = spool__cursor(s, KEY2, EXPORT_OTLP_PROFILES, both, 2);
	for (__u32 n = 1; n <= 3; n++)
		append(s, n, 1000);
	assert_int_equal(take(s, gone), 1);
	spool__close(s);
	/* It takes the place of the one that has gone, and another one after it does not. */
	s = spool__open(&files);
	cursor = spool__cursor(s, KEY, EXPORT_OTLP_PROFILES, other, 2);
	new = spool__cursor(s, 79, EXPORT_OTLP_PROFILES, other, 2);
	assert_int_equal(take(s, new), 2);
	spool__close(s);
	s = open_one(&cursor);
	for (__u32 n = 1; n <= 100; n++) {
		if (n > 3)
			assert_int_equal(append(s, n, 100000), 0);
		assert_int_equal(take(s, cursor), n);
		spool__counts(s, &counts);
		assert_true(counts.bytes < files.disk_limit / 4);
	}
	spool__close(s);
}

/* ---- what others leave ------------------------------------------------------------------------- */

static int used_disk(__u64 *size)
{
	struct stat st;

	for (unsigned i = 0; i < SPOOL_SEGMENTS; i++) {
		assert_int_equal(fstat(files.disk[i], &st), 0);
		*size = (__u64)st.st_size;
		if (st.st_size)
			return files.disk[i];
	}
	fail();
	return -1;
}

static void a_tail_torn_at_every_byte_is_cut(void **state)
{
	__u64 size, two;
	int cursor, fd;
	char all[4096];
	struct spool *s = open_one(&cursor);

	append(s, 1, 33);
	append(s, 2, 40);
	fd = used_disk(&two);
	append(s, 3, 57);
	spool__close(s);
	fd = used_disk(&size);
	assert_int_equal(pread(fd, all, sizeof(all), 0), size);
	for (__u64 cut = two; cut < size; cut++) {
		struct spool_counts counts;

		assert_int_equal(pwrite(fd, all, size, 0), size);
		assert_int_equal(ftruncate(fd, (off_t)cut), 0);
		assert_int_equal(ftruncate(files.cursors, 0), 0);
		s = open_one(&cursor);
		spool__counts(s, &counts);
		assert_int_equal(counts.torn, cut > two);
		assert_int_equal(counts.bytes, two);
		assert_int_equal(append(s, 4, 5), 0); /* behind what is left */
		assert_int_equal(take(s, cursor), 1);
		assert_int_equal(take(s, cursor), 2);
		assert_int_equal(take(s, cursor), 4);
		assert_int_equal(take(s, cursor), 0);
		spool__close(s);
	}
}

/* Each byte but the zeroes that fill up: at most the record that it is in is lost, and that is said. */
static void a_byte_that_changes_costs_its_record_only(void **state)
{
	__u64 size, ends[4] = { 0 };
	int cursor, fd = -1;
	char all[4096];
	struct spool *s = open_one(&cursor);

	ends[0] = sizeof(struct spool_segment_header);
	for (__u32 n = 1; n <= 3; n++) {
		append(s, n, 40); /* 80 + 3 + 40: with zeroes where n is odd */
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
		assert_int_equal(ftruncate(files.cursors, 0), 0);
		s = open_one(&cursor);
		for (unsigned n = 1; n <= 3; n++)
			if (n != hit || harmless)
				assert_int_equal(take(s, cursor), n);
		assert_int_equal(take(s, cursor), 0);
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
	struct spool *s = open_one(&cursor);

	spool_record_seal(&fake, "", "");
	for (size_t i = 0; i + sizeof(fake) <= sizeof(body); i += sizeof(fake))
		memcpy(body + i, &fake, sizeof(fake));
	assert_int_equal(spool__append(s, &b), 0);
	append(s, 2, 10);
	spool__close(s);
	fd = used_disk(&size);
	assert_int_equal(pwrite(fd, "x", 1, sizeof(struct spool_segment_header) + 20), 1);
	s = open_one(&cursor);
	assert_int_equal(take(s, cursor), 2);
	assert_int_equal(take(s, cursor), 0);
	spool__close(s);
}

static void a_full_disk_means_memory(void **state)
{
	struct rlimit none = { 20000, RLIM_INFINITY }, all;
	struct spool_counts counts;
	int cursor;
	struct spool *s;

	/* A limit on the size of files stands for the disk: memory's are new, so one record still fits. */
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
	s = open_one(&cursor);
	assert_int_equal(append(s, 1, 15000), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(append(s, 2, 15000), 0); /* the disk's segment is full, memory's is new */
	spool__counts(s, &counts);
	assert_true(counts.disk_full);
	assert_int_equal(counts.errors, 1);
	assert_int_equal(append(s, 3, 15000), -EFBIG); /* both are */
	assert_int_equal(at(s, cursor)->dropped, 1);
	none.rlim_cur = all.rlim_cur;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	assert_int_equal(append(s, 4, 15000), 0);
	spool__counts(s, &counts);
	assert_false(counts.disk_full);
	{
		__u64 batches, samples;

		spool__in_memory(s, cursor, &batches, &samples);
		assert_int_equal(batches, 1);
		assert_int_equal(samples, 2);
	}
	/* A worker that is started anew finds both, and in order. */
	spool__close(s);
	s = open_one(&cursor);
	assert_int_equal(take(s, cursor), 1);
	assert_int_equal(take(s, cursor), 2);
	assert_int_equal(take(s, cursor), 4);
	assert_int_equal(take(s, cursor), 0);
	spool__close(s);
}

static void a_full_disk_is_used_again_once_all_is_delivered(void **state)
{
	struct rlimit little = { 20000, RLIM_INFINITY }, all;
	struct spool_counts counts;
	int cursor;
	struct spool *s;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
	s = open_one(&cursor);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	for (__u32 n = 1; n <= 5; n++) {
		assert_int_equal(append(s, n, 15000), 0);
		assert_int_equal(take(s, cursor), n);
		spool__counts(s, &counts);
		assert_false(counts.disk_full);
		assert_int_equal(counts.memory_bytes, 0);
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	spool__close(s);
}

static void what_is_dropped_on_its_way_may_arrive(void **state)
{
	struct spool_entry e;
	int cursor;
	struct spool *s = open_one(&cursor);

	append(s, 1, 100000);
	e = *spool__next(s, cursor);
	for (__u32 n = 2; n <= 60; n++)
		append(s, n, 100000);
	assert_true(at(s, cursor)->dropped > 1);
	spool__done(s, cursor, &e);
	assert_int_equal(at(s, cursor)->dropped + at(s, cursor)->pending, 59);
	assert_int_equal(at(s, cursor)->dropped_samples + at(s, cursor)->pending_samples,
			 60 * 61 / 2 - 1);
	spool__close(s);
}

/* Killed at any moment: all that it has said it had taken is there. */
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
			s = open_one(&cursor);
			for (n = 1 + 100000 * round; n % 100000 < 1500; n++) {
				if (append(s, n, 2000) || write(said[1], &n, sizeof(n)) < 0)
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
		s = open_one(&cursor);
		n = 100000 * round;
		for (__u32 got = take(s, cursor); got; got = take(s, cursor))
			assert_int_equal(got, ++n);
		assert_true(n >= last); /* one may be there of which it had no time to speak */
		spool__close(s);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_files, close_files)
	const struct CMUnitTest tests[] = {
		TEST(in_order_over_restarts),
		TEST(the_same_id_is_the_same_batch),
		TEST(the_oldest_goes_and_is_counted),
		TEST(what_is_larger_than_the_spool_is_dropped),
		TEST(restarts_use_no_segments),
		TEST(delivered_segments_are_emptied),
		TEST(a_slow_destination_keeps_what_it_needs),
		TEST(a_destination_that_moved_inherits),
		TEST(another_destination_begins_now),
		TEST(a_destination_that_is_gone_holds_nothing),
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
