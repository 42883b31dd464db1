/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support_spool.h"

struct spool_files test_files;

int spool_test_set_up(void **state)
{
	test_files = (struct spool_files){ .disk_limit = 4 << 20, .memory_limit = 4 << 20 };
	for (unsigned i = 0; i < SPOOL_SEGMENTS; i++) {
		test_files.disk[i] = memfd_create("disk", MFD_CLOEXEC);
		test_files.memory[i] = memfd_create("memory", MFD_CLOEXEC);
	}
	test_files.cursors = memfd_create("cursors", MFD_CLOEXEC);
	return test_files.cursors < 0;
}

int spool_test_tear_down(void **state)
{
	for (unsigned i = 0; i < SPOOL_SEGMENTS; i++) {
		close(test_files.disk[i]);
		close(test_files.memory[i]);
	}
	close(test_files.cursors);
	return 0;
}

struct spool *spool_test_open(int *cursor)
{
	static const __u64 keys[] = { SPOOL_TEST_KEY };
	struct spool *s = spool__open(&test_files);

	assert_non_null(s);
	*cursor = spool__cursor(s, SPOOL_TEST_KEY, EXPORT_OTLP_PROFILES, keys, 1);
	assert_true(*cursor >= 0);
	return s;
}

int spool_test_append(struct spool *s, __u32 n, size_t len)
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

__u32 spool_test_take(struct spool *s, int cursor)
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
		return spool_test_take(s, cursor);
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
