/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_replay_log.c - the log of inputs: reads back exactly what was written. With FILE and OUT:
 * replays what `krait record --log-inputs FILE -p PID` (or a command) has logged, and writes to OUT
 * the folded stacks and which samples could have anchors (tests/e2e/test_replay.py compares them).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "replay.h"
#include "record/replay/input_writer.h"

/* ---- writing and reading --------------------------------------------------------------------------- */

struct log {
	char *data;
	size_t size;
	FILE *out;
	struct input_writer *writer;
	struct input_reader reader;
	struct input_entry entry;
};

static void log_begin(struct log *l)
{
	l->out = open_memstream(&l->data, &l->size);
	l->writer = input_writer__new(l->out);
	assert_non_null(l->writer);
}

static void log_read(struct log *l)
{
	assert_int_equal(input_writer__end(l->writer), 0);
	input_writer__free(l->writer);
	fclose(l->out);
	assert_int_equal(input_reader_begin(&l->reader, l->data, l->size), 0);
}

static void next(struct log *l, enum input_kind kind, size_t value_size)
{
	assert_int_equal(input_reader_next(&l->reader, &l->entry), 1);
	assert_int_equal(l->entry.kind, kind);
	assert_int_equal(l->entry.value_size, value_size);
}

static void what_was_written_is_read_back(void **state)
{
	const struct probe_request read = { .op = PROBE_READ, .pid = 7, .read = { 64, 5 } };
	const struct probe_request maps = { .op = PROBE_MAPS, .pid = 7 };
	int fds[PROBE_FDS_MAX] = { -1, -1, memfd_create("list", MFD_CLOEXEC) };
	struct log l;
	struct input_answer head;
	struct input_fact fact;

	assert_int_equal(write(fds[2], "0-1 r-xp", 8), 8);
	log_begin(&l);
	input_writer__record(l.writer, "abc", 3);
	input_writer_answer(l.writer, &read, 0, "bytes", 5, NULL);
	input_writer_answer(l.writer, &read, -ETIMEDOUT, NULL, 0, NULL);
	input_writer_answer(l.writer, &maps, 0, "", 0, fds);
	assert_int_equal(input_writer__fact(l.writer, QUESTION_START, 7, -ESRCH, 9), -ESRCH);
	assert_int_equal(input_writer__fact(NULL, QUESTION_START, 7, -EIO, 9), -EIO);
	log_read(&l);
	close(fds[2]);

	next(&l, INPUT_RECORD, 3);
	assert_memory_equal(l.entry.value, "abc", 3);
	next(&l, INPUT_ANSWER, sizeof(head) + 5);
	assert_memory_equal(l.entry.key, &read, sizeof(read));
	memcpy(&head, l.entry.value, sizeof(head));
	assert_true(head.answered && !head.result && !head.fds);
	assert_memory_equal((const char *)l.entry.value + sizeof(head), "bytes", 5);
	next(&l, INPUT_ANSWER, sizeof(head));
	memcpy(&head, l.entry.value, sizeof(head));
	assert_true(!head.answered && head.result == -ETIMEDOUT);
	next(&l, INPUT_ANSWER, sizeof(head) + 8);
	memcpy(&head, l.entry.value, sizeof(head));
	assert_int_equal(head.fds, 4);
	assert_memory_equal((const char *)l.entry.value + sizeof(head), "0-1 r-xp", 8);
	next(&l, INPUT_FACT, sizeof(fact));
	memcpy(&fact, l.entry.value, sizeof(fact));
	assert_true(fact.result == -ESRCH && fact.value == 9);
	next(&l, INPUT_END, 0);
	assert_int_equal(input_reader_next(&l.reader, &l.entry), 0);
	free(l.data);
}

static void what_is_cut_off_or_too_long_is_no_entry(void **state)
{
	static char large[INPUT_VALUE_MAX + 1];
	struct log l;
	__u64 *data;

	log_begin(&l);
	input_writer__record(l.writer, "0123456789", 10);
	log_read(&l);
	data = (__u64 *)l.data;
	for (size_t size = 0; size < l.size; size++) {
		int result = input_reader_begin(&l.reader, l.data, size);

		while (!result && (result = input_reader_next(&l.reader, &l.entry)) > 0) {
			assert_int_equal(l.entry.kind, INPUT_RECORD);
			result = 0;
		}
		assert_true(result == 0 || result == -EBADMSG || result == -ENOEXEC);
	}
	data[1] ^= 1; /* another struct's size */
	assert_int_equal(input_reader_begin(&l.reader, l.data, l.size), -ENOEXEC);
	free(l.data);

	log_begin(&l);
	input_writer__record(l.writer, large, sizeof(large));
	assert_int_equal(input_writer__end(l.writer), -EFBIG);
	input_writer__free(l.writer);
	fclose(l.out);
	free(l.data);
}

/* ---- a log of a real session ------------------------------------------------------------------------ */

static const char *log_path, *out_path;

/* Prints how many of the samples with a stack come from an interpreter that could have anchors. */
static void print_anchors(const void *data, size_t size)
{
	struct input_reader reader;
	struct input_entry e;
	unsigned long cnt = 0, could = 0;

	assert_int_equal(input_reader_begin(&reader, data, size), 0);
	while (input_reader_next(&reader, &e) > 0) {
		const struct record_sample *record = e.value;

		if (e.kind != INPUT_RECORD || record->type != RECORD_SAMPLE ||
		    record->reason != REASON_PYTHON)
			continue;
		cnt++;
		could += !record->no_anchors;
	}
	printf("# anchors: %lu of %lu\n", could, cnt);
}

static void replay_file(void **state)
{
	FILE *in = fopen(log_path, "re"), *out = fopen(out_path, "we");
	struct replay *r;
	char *data;
	size_t size;

	assert_true(in && out);
	assert_int_equal(fseek(in, 0, SEEK_END), 0);
	size = (size_t)ftell(in);
	rewind(in);
	data = malloc(size);
	assert_int_equal(fread(data, 1, size, in), size);
	fclose(in);
	r = replay_new(data, size, false);
	replay_run(r);
	fputs(replay_folded(r), out);
	fclose(out);
	replay_free(r);
	print_anchors(data, size);
	free(data);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read_back),
		cmocka_unit_test(what_is_cut_off_or_too_long_is_no_entry),
	};
	const struct CMUnitTest recorded[] = { cmocka_unit_test(replay_file) };

	if (argc > 2) {
		out_path = argv[2];
		log_path = argv[1];
		return cmocka_run_group_tests_name("replay", recorded, NULL, NULL);
	}
	return cmocka_run_group_tests_name("record/replay/input_log", tests, NULL, NULL);
}
