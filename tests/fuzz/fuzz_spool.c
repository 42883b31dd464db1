/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a spool left by others: the input overwrites its first segment from an offset that
 * it chooses; valid content is read, more is appended, and the appended records are there.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/export/spool.h"

#define KEY 5U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void append(struct spool *s, uint8_t n)
{
	const struct spool_batch b = {
		.batch = { .id = { 200, n },
			   .samples = n,
			   .query = "x=y",
			   .body = "12345",
			   .len = 5 },
		.raw_len = 5,
	};

	if (spool__append(s, &b))
		abort();
}

/* Returns the samples of the last readable record. */
static uint64_t take_all(struct spool *s, int cursor)
{
	const struct spool_entry *next;
	uint64_t last = 0;

	while ((next = spool__next(s, cursor))) {
		struct spool_entry e = *next;
		struct spool_batch b;
		void *buffer;

		if (spool__read(s, &e, &b, &buffer)) {
			spool__spoilt(s, cursor, &e);
			continue;
		}
		if (b.batch.query && strlen(b.batch.query) > EXPORT_QUERY_MAX)
			abort();
		last = b.batch.len == 5 ? b.batch.samples : 0;
		free(buffer);
		spool__done(s, cursor, &e);
	}
	return last;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const __u64 keys[] = { KEY };
	struct spool_files f = { .disk_limit = 1 << 20, .memory_limit = 1 << 20 };
	struct spool *s;
	int cursor;

	if (size < 2)
		return 0;
	for (unsigned i = 0; i < SPOOL_SEGMENTS; i++)
		f.disk[i] = f.memory[i] = -1;
	for (unsigned i = 0; i < 2; i++) {
		f.disk[i] = memfd_create("disk", MFD_CLOEXEC);
		f.memory[i] = memfd_create("memory", MFD_CLOEXEC);
	}
	f.cursors = memfd_create("cursors", MFD_CLOEXEC);
	s = spool__open(&f);
	if (!s || spool__cursor(s, KEY, EXPORT_OTLP_PROFILES, keys, 1) < 0)
		abort();
	for (uint8_t n = 1; n < 5; n++)
		append(s, n);
	spool__close(s);
	if (data[0] % 2)
		(void)!pwrite(f.disk[0], data + 2, size - 2, data[1] * 2);
	else
		(void)!pwrite(f.cursors, data + 2, size - 2, data[1] % 64);
	s = spool__open(&f);
	cursor = s ? spool__cursor(s, KEY, EXPORT_OTLP_PROFILES, keys, 1) : -1;
	if (cursor < 0)
		abort();
	take_all(s, cursor);
	append(s, 77);
	/* A cursor that claims to be far ahead gets what follows it. */
	if (take_all(s, cursor) != 77 || spool__cursor_at(s, cursor)->pending)
		abort();
	spool__close(s);
	for (unsigned i = 0; i < 2; i++) {
		close(f.disk[i]);
		close(f.memory[i]);
	}
	close(f.cursors);
	return 0;
}
