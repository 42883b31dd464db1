/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_inject.c - perf's samples get krait's stacks by thread and time, and nothing else in the file changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "support_raw.h"
#include "base/data/bytes.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "capture/dso/dso.h"
#include "capture/import/inject.h"
#include "capture/import/taken_stacks.h"
#include "capture/perfdata/perf_copy.h"
#include "capture/perfdata/perf_writer.h"
#include "process/space/mapping.h"

#define PID 100
#define OTHER 200
#define PYTHON (DSO_BASE + 0x1011)
#define NATIVE 0x55550000ULL
#define KERNEL 0xffffffff81000000ULL
#define LIBRARY "/tmp/stacks.data.krait/python-00112233.so"
#define HERE "/tmp/perf.data.krait/python-00112233.so"

static const __u8 build_id[20] = { 0, 0x11, 0x22, 0x33 };

/* ---- what krait has taken --------------------------------------------------------------------- */

static const struct event_spec taken_event = {
	.name = TAKEN_EVENT, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .period = 1
};

static void put_taken(struct perf_writer *w, int tid, __u64 own_ns, __u64 perf_ns, __u64 leaf)
{
	const struct perf_stamp stamp = { .pid = tid - tid % 100, .tid = tid, .time_ns = own_ns };
	const __u64 chain[] = { (__u64)PERF_CONTEXT_USER, leaf, NATIVE };

	assert_int_equal(perf_writer__sample(w, &stamp, 0, perf_ns, leaf, chain, 3), 0);
}

static FILE *stacks_file(const struct event_spec *event, bool near)
{
	static const struct recording recording = { .host = "h", .kernel = "k" };
	const struct perf_writer_config config = { .recording = &recording,
						   .events = event,
						   .event_cnt = 1 };
	const struct perf_stamp stamp = { .pid = PID, .tid = PID, .time_ns = 1 };
	const struct mapping at = { DSO_BASE, DSO_BASE + DSO_STRIDE, 0, { NULL } };
	const struct perf_object object = { LIBRARY, build_id };
	struct perf_writer *w;
	FILE *f = tmpfile();

	assert_int_equal(perf_writer__new(&w, f, &config), 0);
	assert_int_equal(perf_writer__mapping(w, &stamp, &at, &object), 0);
	put_taken(w, PID, 5000000, near ? 0 : 1000, PYTHON);
	put_taken(w, PID, 6000000, near ? 0 : 2000, NATIVE);
	put_taken(w, PID + 1, 7000000, near ? 0 : 1000, PYTHON + 4);
	/* Of two at the same time that say the same, either will do. */
	put_taken(w, PID + 2, 8000000, near ? 0 : 3000, PYTHON);
	put_taken(w, PID + 2, 8000000, near ? 0 : 3000, PYTHON);
	put_taken(w, PID + 3, 9000000, near ? 0 : 3000, PYTHON);
	put_taken(w, PID + 3, 9000000, near ? 0 : 3000, PYTHON + 4);
	assert_int_equal(perf_writer__finish(w, NULL, 0), 0);
	perf_writer__free(w);
	rewind(f);
	return f;
}

static struct taken_stacks *stacks_of(bool near)
{
	cleanup_fclose FILE *f = stacks_file(&taken_event, near);
	struct taken_stacks *t;
	struct error err;

	assert_int_equal(taken_stacks__read(&t, f, "test", &err), 0);
	return t;
}

static void stacks_are_found_by_thread_and_time(void **state)
{
	struct taken_stacks *t = stacks_of(false);
	struct taken_stack s;

	assert_int_equal(taken_stacks__find(t, PID, 1000, &s), TAKEN_FOUND);
	assert_true(s.has_python);
	assert_int_equal(s.cnt, 2);
	assert_int_equal(s.list[0], PYTHON);
	assert_int_equal(taken_stacks__find(t, PID, 2000, &s), TAKEN_FOUND);
	assert_false(s.has_python);
	assert_int_equal(taken_stacks__find(t, PID + 1, 1000, &s), TAKEN_FOUND);
	assert_int_equal(s.list[0], PYTHON + 4);
	assert_int_equal(taken_stacks__find(t, PID, 1001, &s), TAKEN_NONE);
	assert_int_equal(taken_stacks__find(t, PID, 999, &s), TAKEN_NONE);
	assert_int_equal(taken_stacks__find(t, PID + 9, 1000, &s), TAKEN_NONE);
	assert_int_equal(taken_stacks__find(t, PID + 2, 3000, &s), TAKEN_FOUND);
	assert_int_equal(taken_stacks__find(t, PID + 3, 3000, &s), TAKEN_SEVERAL);
	assert_true(taken_stacks__has(t, PID));
	assert_false(taken_stacks__has(t, OTHER));
	assert_true(taken_stacks__are_after(t, PID, 999));
	assert_false(taken_stacks__are_after(t, PID, 1000) ||
		     taken_stacks__are_before(t, PID, 1000));
	assert_false(taken_stacks__are_before(t, OTHER, 1ULL << 60));
	assert_false(taken_stacks__are_near(t));
	taken_stacks__free(t);
}

/* Where the kernel has not said perf's time: the only one shortly before. */
static void without_a_time_the_only_one_near_is_found(void **state)
{
	struct taken_stacks *t = stacks_of(true);
	struct taken_stack s;

	assert_true(taken_stacks__are_near(t));
	assert_int_equal(taken_stacks__find(t, PID, 5000000, &s), TAKEN_FOUND);
	assert_int_equal(taken_stacks__find(t, PID, 5030000, &s), TAKEN_FOUND);
	assert_int_equal(taken_stacks__find(t, PID, 4999999, &s), TAKEN_NONE);
	assert_int_equal(taken_stacks__find(t, PID, 5300000, &s), TAKEN_NONE);
	assert_int_equal(taken_stacks__find(t, PID + 3, 9000500, &s), TAKEN_SEVERAL);
	taken_stacks__free(t);
}

static void another_capture_is_refused(void **state)
{
	const struct event_spec event = { .name = "cpu-clock", .frequency = 99 };
	cleanup_fclose FILE *f = stacks_file(&event, false);
	struct taken_stacks *t;
	struct error err;

	assert_true(taken_stacks__read(&t, f, "test", &err) < 0);
	assert_non_null(strstr(err.text, "krait attach --perf"));
}

/* ---- perf's file ------------------------------------------------------------------------------ */

#define TYPE                                                                                       \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CALLCHAIN)
#define DWARF                                                                                      \
	(PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT)
#define ID 7

struct sample {
	int tid;
	__u64 time_ns;
	bool in_kernel;
	__u64 leaf; /* of user mode; 0: there is no chain of it */
	unsigned cnt; /* of user mode's addresses */
	bool dwarf;
	unsigned stack; /* bytes of its copy */
};

static void put_sample(struct bytes *b, const struct sample *s)
{
	size_t start =
		raw_record_begin(b, PERF_RECORD_SAMPLE,
				 s->in_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
	unsigned cnt = (s->in_kernel ? 2 : 0) + (s->cnt ? s->cnt + 1 : 0);

	bytes_u64(b, ID);
	bytes_u64(b, s->in_kernel ? KERNEL : s->leaf);
	bytes_u32(b, (__u32)(s->tid - s->tid % 100));
	bytes_u32(b, (__u32)s->tid);
	bytes_u64(b, s->time_ns);
	bytes_u64(b, cnt);
	if (s->in_kernel) {
		bytes_u64(b, (__u64)PERF_CONTEXT_KERNEL);
		bytes_u64(b, KERNEL);
	}
	if (s->cnt)
		bytes_u64(b, (__u64)PERF_CONTEXT_USER);
	for (unsigned i = 0; i < s->cnt; i++)
		bytes_u64(b, s->leaf + i);
	if (s->dwarf) {
		bytes_u32(b, 12);
		bytes_fill(b, 0xaa, 12);
		bytes_u64(b, 2); /* PERF_SAMPLE_REGS_ABI_64, and two registers */
		bytes_u64(b, 0x11);
		bytes_u64(b, 0x22);
		bytes_u64(b, s->stack);
		bytes_fill(b, 0xbb, s->stack);
		if (s->stack)
			bytes_u64(b, 40);
		bytes_u64(b, 0x77); /* its weight */
	}
	raw_record_end(b, start);
}

static void put_trailer(struct bytes *b, int pid, __u64 time_ns)
{
	bytes_u32(b, (__u32)pid);
	bytes_u32(b, (__u32)pid);
	bytes_u64(b, time_ns);
	bytes_u64(b, ID);
}

static void put_fork(struct bytes *b, int pid, int parent, __u64 time_ns)
{
	size_t start = raw_record_begin(b, PERF_RECORD_FORK, 0);

	bytes_u32(b, (__u32)pid);
	bytes_u32(b, (__u32)parent);
	bytes_u32(b, (__u32)pid);
	bytes_u32(b, (__u32)parent);
	bytes_u64(b, time_ns);
	put_trailer(b, pid, time_ns);
	raw_record_end(b, start);
}

static void put_library(struct bytes *b, int pid, __u64 time_ns, bool zero)
{
	size_t start = raw_record_begin(b, PERF_RECORD_MMAP2,
					PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID);

	bytes_u32(b, (__u32)pid);
	bytes_u32(b, (__u32)pid);
	bytes_u64(b, DSO_BASE);
	bytes_u64(b, DSO_STRIDE);
	bytes_u64(b, 0);
	bytes_u32(b, sizeof(build_id));
	bytes_put(b, build_id, sizeof(build_id));
	bytes_u32(b, 5);
	bytes_u32(b, 2);
	bytes_text(b, HERE);
	bytes_align(b, 8);
	if (zero)
		bytes_fill(b, 0, 24);
	else
		put_trailer(b, pid, time_ns);
	raw_record_end(b, start);
}

/* In the layout of files, with one feature, or in that of pipes. */
static FILE *file_of(const struct bytes *records, __u64 type, bool pipe)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = PERF_ATTR_SIZE,
					.sample_type = type,
					.sample_regs_user = 3,
					.sample_id_all = 1 };
	struct perf_file_header h = {
		.magic = PERF_MAGIC,
		.size = sizeof(h),
		.attr_size = PERF_ATTR_SIZE + 16,
		.attrs = { sizeof(h) + 8, PERF_ATTR_SIZE + 16 },
		.data = { sizeof(h) + 8 + PERF_ATTR_SIZE + 16, records->len },
		.features = { 1ULL << PERF_FEATURE_HOSTNAME },
	};
	cleanup_bytes struct bytes b = { 0 };
	FILE *f = tmpfile();
	size_t start;

	if (pipe) {
		bytes_u64(&b, PERF_MAGIC);
		bytes_u64(&b, PERF_PIPE_HEADER_SIZE);
		start = raw_record_begin(&b, PERF_USER_HEADER_ATTR, 0);
		bytes_put(&b, &attr, PERF_ATTR_SIZE);
		bytes_u64(&b, ID);
		raw_record_end(&b, start);
		bytes_put(&b, records->data, records->len);
	} else {
		bytes_put(&b, &h, sizeof(h));
		bytes_u64(&b, ID);
		bytes_put(&b, &attr, PERF_ATTR_SIZE);
		bytes_u64(&b, sizeof(h));
		bytes_u64(&b, 8);
		bytes_put(&b, records->data, records->len);
		bytes_u64(&b, h.data.offset + h.data.size + 16);
		bytes_u64(&b, 8);
		bytes_put(&b, "feature!", 8);
	}
	assert_int_equal(fwrite(b.data, 1, b.len, f), b.len);
	rewind(f);
	return f;
}

static const char *library(void *ctx, const char *path, const __u8 *id, unsigned size)
{
	assert_string_equal(path, LIBRARY);
	assert_int_equal(size, sizeof(build_id));
	assert_memory_equal(id, build_id, size);
	return HERE;
}

static int edit(void *ctx, const struct perf_reader *reader, const struct perf_read *r,
		struct bytes *to)
{
	return inject_edit(ctx, reader, r, to);
}

/* Injects into a file of the first records: it becomes a file of the second ones. */
static struct inject_stats check(const struct bytes *before, const struct bytes *after, __u64 type,
				 bool pipe)
{
	struct taken_stacks *stacks = stacks_of(false);
	struct inject inject = { .stacks = stacks, .library = library };
	const struct perf_copy_editor editor = { .edit = edit, .ctx = &inject };
	cleanup_fclose FILE *in = file_of(before, type, pipe),
			    *want_file = file_of(after, type, pipe), *out = tmpfile();
	cleanup_bytes struct bytes got = { 0 }, want = { 0 };
	struct perf_read_stats stats;
	struct error err;

	assert_int_equal(perf_copy(out, in, "test", &editor, &stats, &err), 0);
	assert_int_equal(stats.skipped, 0);
	raw_file_read(out, &got);
	raw_file_read(want_file, &want);
	assert_int_equal(got.len, want.len);
	assert_memory_equal(got.data, want.data, want.len);
	inject_free(&inject);
	taken_stacks__free(stacks);
	return inject.stats;
}

static const struct sample in_python = { .tid = PID, .time_ns = 1000, .leaf = 0x400, .cnt = 5 };

/* What that sample becomes. */
static void put_injected(struct bytes *b, struct sample s, __u64 leaf)
{
	cleanup_bytes struct bytes one = { 0 };

	s.leaf = leaf;
	s.cnt = 2;
	s.stack = 0;
	put_sample(&one, &s);
	/* The caller is the other address. */
	for (size_t at = 0; at < one.len; at += 8) {
		__u64 value;

		memcpy(&value, one.data + at, sizeof(value));
		if (value == leaf + 1)
			memcpy(one.data + at, &(__u64){ NATIVE }, sizeof(value));
	}
	bytes_put(b, one.data, one.len);
}

static void a_sample_gets_the_stack_of_its_time(void **state)
{
	for (int pipe = 0; pipe < 2; pipe++) {
		cleanup_bytes struct bytes before = { 0 }, after = { 0 };
		struct sample kernel = in_python, native = in_python, early = in_python,
			      other = in_python, unclear = in_python, late = in_python;
		struct inject_stats s;

		kernel.in_kernel = true;
		kernel.tid = PID + 1;
		native.time_ns = 2000;
		early.time_ns = 500;
		other.tid = OTHER;
		unclear.tid = PID + 3;
		unclear.time_ns = 3000;
		late.time_ns = 900000000;
		put_fork(&before, PID, 1, 50);
		raw_record_unknown(&before, 0x123);
		put_fork(&before, OTHER, 1, 60);
		put_sample(&before, &early);
		put_sample(&before, &in_python);
		put_sample(&before, &kernel);
		put_sample(&before, &native);
		put_sample(&before, &other);
		put_sample(&before, &unclear);
		put_sample(&before, &late);

		put_fork(&after, PID, 1, 50);
		put_library(&after, PID, 50, false);
		raw_record_unknown(&after, 0x123);
		put_fork(&after, OTHER, 1, 60);
		put_sample(&after, &early);
		put_injected(&after, in_python, PYTHON);
		put_injected(&after, kernel, PYTHON + 4);
		put_sample(&after, &native);
		put_sample(&after, &other);
		put_sample(&after, &unclear);
		put_sample(&after, &late);
		s = check(&before, &after, TYPE, pipe);
		assert_int_equal(s.samples, 6);
		assert_int_equal(s.others, 1);
		assert_int_equal(s.matched, 3);
		assert_int_equal(s.python, 2);
		assert_int_equal(s.before, 1);
		assert_int_equal(s.after, 1);
		assert_int_equal(s.unclear, 1);
	}
}

/* Nothing has said when it began. */
static void an_unknown_process_gets_its_libraries_at_its_first_sample(void **state)
{
	cleanup_bytes struct bytes before = { 0 }, after = { 0 };
	struct sample again = in_python;

	again.tid = PID + 1;
	put_sample(&before, &in_python);
	put_sample(&before, &again);
	put_library(&after, PID, 0, true);
	put_injected(&after, in_python, PYTHON);
	put_injected(&after, again, PYTHON + 4);
	assert_int_equal(check(&before, &after, TYPE, false).python, 2);
}

/* perf would unwind from the copy, and show the stack twice. */
static void the_copy_of_the_stack_is_left_out(void **state)
{
	cleanup_bytes struct bytes before = { 0 }, after = { 0 };
	struct sample s = in_python, without = in_python;

	s.cnt = 0;
	s.dwarf = without.dwarf = true;
	s.stack = 64;
	without.tid = PID + 1;
	put_fork(&before, PID, 1, 50);
	put_sample(&before, &s);
	put_sample(&before, &without);
	put_fork(&after, PID, 1, 50);
	put_library(&after, PID, 50, false);
	put_injected(&after, s, PYTHON);
	put_injected(&after, without, PYTHON + 4);
	assert_int_equal(check(&before, &after, TYPE | DWARF, false).python, 2);
}

static void a_record_too_large_stays(void **state)
{
	cleanup_bytes struct bytes before = { 0 }, after = { 0 };
	/* The other part of it is what does not fit. */
	struct sample s = in_python;
	struct inject_stats stats;

	s.cnt = 0;
	s.dwarf = true;
	put_fork(&before, PID, 1, 50);
	put_fork(&after, PID, 1, 50);
	put_library(&after, PID, 50, false);
	{
		cleanup_bytes struct bytes one = { 0 };
		const __u32 raw = 65428;

		put_sample(&one, &s);
		/* The raw data grow to nearly all of it. */
		for (struct bytes *b = &before; b; b = b == &before ? &after : NULL) {
			size_t start = b->len;

			bytes_put(b, one.data, 48);
			bytes_u32(b, raw);
			bytes_fill(b, 0xaa, raw);
			bytes_put(b, one.data + 48 + 16, one.len - 48 - 16);
			raw_record_end(b, start);
		}
	}
	stats = check(&before, &after, TYPE | DWARF, false);
	assert_int_equal(stats.too_large, 1);
	assert_int_equal(stats.python, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_found_by_thread_and_time),
		cmocka_unit_test(without_a_time_the_only_one_near_is_found),
		cmocka_unit_test(another_capture_is_refused),
		cmocka_unit_test(a_sample_gets_the_stack_of_its_time),
		cmocka_unit_test(an_unknown_process_gets_its_libraries_at_its_first_sample),
		cmocka_unit_test(the_copy_of_the_stack_is_left_out),
		cmocka_unit_test(a_record_too_large_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
