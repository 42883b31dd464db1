/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_record.c - inconsistent records reach only bad_record().
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/sampler/record.h"
#include "bpf/share.h"
#include "kernel/sampler/sampler.h"

#define FRAMES 5

struct sample_record {
	struct record_sample record;
	struct frame frames[FRAMES];
};

struct calls {
	int samples, tasks, bad;
	struct record_sample record;
	struct frame frames[FRAMES];
	struct record_task task;
	int codes, mmaps;
	size_t sections[SECTION_CNT]; /* their offsets */
};

static void on_sample(void *ctx, const struct record_sample *record)
{
	struct calls *calls = ctx;
	__u32 cnt;

	calls->samples++;
	calls->record = *record;
	for (enum record_section section = 0; section < SECTION_CNT; section++)
		calls->sections[section] =
			(const char *)record__section(record, section, &cnt) - (const char *)record;
	if (record->cnt[SECTION_FRAMES] <= FRAMES)
		memcpy(calls->frames, record__frames(record),
		       record->cnt[SECTION_FRAMES] * sizeof(*calls->frames));
}

static void on_task(void *ctx, const struct record_task *record)
{
	struct calls *calls = ctx;

	calls->tasks++;
	calls->task = *record;
}

static void on_code(void *ctx, const struct record_code *record)
{
	((struct calls *)ctx)->codes++;
}

static void on_mmap(void *ctx, const struct record_mmap *record)
{
	((struct calls *)ctx)->mmaps++;
}

static void on_bad(void *ctx)
{
	((struct calls *)ctx)->bad++;
}

/* Copies the record so that the copy ends exactly with it: the sanitizer notices reads beyond. */
static struct calls dispatch(const void *data, size_t size)
{
	struct calls calls = { 0 };
	struct sampler_handler handler = {
		.sample = on_sample,
		.task = on_task,
		.code = on_code,
		.mmap = on_mmap,
		.bad_record = on_bad,
		.ctx = &calls,
	};
	void *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	record_dispatch(&handler, copy, size);
	free(copy);
	assert_int_equal(calls.samples + calls.tasks + calls.codes + calls.mmaps + calls.bad, 1);
	return calls;
}

static struct sample_record good_sample(__u32 frame_cnt)
{
	struct sample_record r;

	memset(&r, 0, sizeof(r));
	r.record.type = RECORD_SAMPLE;
	r.record.size = sizeof(r.record) + frame_cnt * sizeof(struct frame);
	r.record.cnt[SECTION_FRAMES] = frame_cnt;
	r.record.reason = REASON_PYTHON;
	strcpy(r.record.comm, "python3");
	for (__u32 i = 0; i < FRAMES; i++)
		r.frames[i].code_addr = 0x1000 + i;
	return r;
}

static const __u32 tasks[] = { RECORD_EXEC, RECORD_FORK, RECORD_EXIT, RECORD_THREAD_EXIT,
			       RECORD_RUNTIME };

static struct record_task good_task(__u32 type)
{
	return (struct record_task){ .type = type, .size = sizeof(struct record_task), .pid = 77 };
}

static void a_sample_arrives_whole(void **state)
{
	for (__u32 cnt = 0; cnt <= FRAMES; cnt++) {
		struct sample_record r = good_sample(cnt);
		struct calls calls = dispatch(&r, r.record.size);

		assert_int_equal(calls.samples, 1);
		assert_memory_equal(&calls.record, &r.record, sizeof(r.record));
		assert_memory_equal(calls.frames, r.frames, cnt * sizeof(struct frame));
	}
}

static void a_task_event_arrives_whole(void **state)
{
	for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
		struct record_task task = good_task(tasks[i]);
		struct calls calls = dispatch(&task, sizeof(task));

		assert_int_equal(calls.tasks, 1);
		assert_memory_equal(&calls.task, &task, sizeof(task));
	}
}

static void what_nobody_wants_is_dropped(void **state)
{
	const struct sampler_handler nobody = { 0 };
	struct sample_record sample = good_sample(FRAMES);
	struct record_task task = good_task(RECORD_FORK);
	struct record_mmap map = { .type = RECORD_MMAP, .size = sizeof(map) };
	struct record_code code = { .type = RECORD_CODE, .size = CODE_RECORD_HEADER };

	assert_int_equal(dispatch(&map, sizeof(map)).mmaps, 1);
	assert_int_equal(dispatch(&code, CODE_RECORD_HEADER).codes, 1);
	record_dispatch(&nobody, &sample, sample.record.size);
	record_dispatch(&nobody, &task, sizeof(task));
	record_dispatch(&nobody, &map, sizeof(map));
	record_dispatch(&nobody, &code, CODE_RECORD_HEADER);
	record_dispatch(&nobody, &map, sizeof(map) - 1); /* bad */
}

static void a_sample_that_is_cut_anywhere_is_bad(void **state)
{
	struct sample_record r = good_sample(FRAMES);

	for (size_t size = 0; size < r.record.size; size++)
		assert_int_equal(dispatch(&r, size).bad, 1);
}

static void a_task_event_that_is_cut_anywhere_is_bad(void **state)
{
	for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
		struct record_task task = good_task(tasks[i]);

		for (size_t size = 0; size < sizeof(task); size++)
			assert_int_equal(dispatch(&task, size).bad, 1);
	}
}

static void a_mapping_that_is_cut_anywhere_is_bad(void **state)
{
	struct record_mmap record = { .type = RECORD_MMAP, .size = sizeof(record) };

	for (size_t size = 0; size < sizeof(record); size++)
		assert_int_equal(dispatch(&record, size).bad, 1);
	assert_int_equal(dispatch(&record, sizeof(record)).mmaps, 1);
	record.size--;
	assert_int_equal(dispatch(&record, sizeof(record)).bad, 1);
}

static void a_type_that_is_none_is_bad(void **state)
{
	static const __u16 types[] = { RECORD_TYPE_CNT, RECORD_TYPE_CNT + 1, 255, 1U << 15,
				       0xffff };
	struct sample_record r = good_sample(FRAMES);

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		r.record.type = types[i];
		assert_int_equal(dispatch(&r, sizeof(r)).bad, 1);
	}
}

static void an_owner_that_is_none_is_bad(void **state)
{
	struct sample_record r = good_sample(FRAMES);
	struct record_task task = good_task(RECORD_FORK);

	r.record.owner = OWNER_CNT - 1;
	assert_int_equal(dispatch(&r, sizeof(r)).bad, 0);
	r.record.owner = OWNER_CNT;
	assert_int_equal(dispatch(&r, sizeof(r)).bad, 1);
	task.owner = 0xffff;
	assert_int_equal(dispatch(&task, sizeof(task)).bad, 1);
}

static void a_frame_count_that_is_not_the_size_is_bad(void **state)
{
	static const __u32 counts[] = { 0,	  FRAMES - 1, FRAMES + 1, KRAIT_MAX_FRAMES + 1,
					1U << 15, 0xaaaa,     0xffff };
	struct sample_record r = good_sample(FRAMES);

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		r.record.cnt[SECTION_FRAMES] = counts[i];
		assert_int_equal(dispatch(&r, sizeof(r)).bad, 1);
	}
}

/* Two Python frames, two native ones (16 bytes), two of the kernel (8). */
static void sections_follow_each_other_and_count(void **state)
{
	struct sample_record r = good_sample(2);
	__u32 plain = r.record.size;
	struct calls calls;

	r.record.cnt[SECTION_NATIVE] = 2;
	r.record.cnt[SECTION_KERNEL] = 2;
	r.record.native_reason = NATIVE_COMPLETE;
	r.record.size = plain + 2 * 16 + 2 * 8;
	calls = dispatch(&r, r.record.size);
	assert_int_equal(calls.samples, 1);
	assert_int_equal(calls.sections[SECTION_FRAMES], sizeof(r.record));
	assert_int_equal(calls.sections[SECTION_NATIVE], plain);
	assert_int_equal(calls.sections[SECTION_KERNEL], plain + 32);
	for (__u32 native = 0; native < 5; native++) {
		for (__u32 kernel = 0; kernel < 5; kernel++) {
			r.record.cnt[SECTION_NATIVE] = native;
			r.record.cnt[SECTION_KERNEL] = kernel;
			/* Four words and two: other counts with the same size are equally valid. */
			assert_int_equal(dispatch(&r, r.record.size).bad, 2 * native + kernel != 6);
		}
	}
	r.record.cnt[SECTION_NATIVE] = r.record.cnt[SECTION_KERNEL] = 2;
	r.record.native_reason = NATIVE_REASON_CNT;
	assert_int_equal(dispatch(&r, r.record.size).bad, 1);
}

/* The maximal length arrives; one more is bad, even if the size matches. */
static void a_section_that_is_too_long_is_bad(void **state)
{
	static const __u32 max[SECTION_CNT] = {
		KRAIT_MAX_FRAMES,     KRAIT_MAX_NATIVE,	       KRAIT_MAX_KERNEL, 1, 1,
		KRAIT_MAX_TASK_PARTS, KRAIT_MAX_GREENLET_PARTS
	};
	static char bytes[sizeof(struct record_sample) + 24 * (KRAIT_MAX_FRAMES + 1)];
	struct record_sample *record = (struct record_sample *)bytes;

	for (enum record_section section = 0; section < SECTION_CNT; section++) {
		for (__u32 more = 0; more < 2; more++) {
			*record = good_sample(0).record;
			record->cnt[section] = max[section] + more;
			record->size += record->cnt[section] * section_unit(section);
			assert_int_equal(dispatch(record, record->size).bad, more);
		}
		record->cnt[section] = 0xffff;
		record->size = sizeof(*record) + 0xffff * section_unit(section);
		assert_int_equal(dispatch(record, sizeof(bytes)).bad, 1);
	}
}

static void a_size_that_is_not_the_records_is_bad(void **state)
{
	static const __u32 sizes[] = { 0, 4, sizeof(struct record_sample), ~0U };
	struct sample_record r = good_sample(FRAMES);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		r.record.size = sizes[i];
		assert_int_equal(dispatch(&r, sizeof(r)).bad, 1);
	}
}

static void a_task_event_of_another_size_is_bad(void **state)
{
	static const __u32 sizes[] = { 0, 8, sizeof(struct record_task) - 1,
				       sizeof(struct record_task) + 8, ~0U };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct record_task task = good_task(RECORD_FORK);

		task.size = sizes[i];
		assert_int_equal(dispatch(&task, sizeof(task)).bad, 1);
	}
}

static void a_reason_that_is_none_is_bad(void **state)
{
	struct sample_record r = good_sample(0);

	for (int i = 0; i < 256; i++) {
		r.record.reason = i;
		assert_int_equal(dispatch(&r, r.record.size).bad, !reason_is_known(i));
	}
	for (__u32 i = 0; i < OUTCOME_CNT; i++) {
		r.record.reason = REASON(i + 1, 0) - 1;
		assert_int_equal(dispatch(&r, r.record.size).bad, 1);
		r.record.reason = REASON(i, 0);
		assert_int_equal(dispatch(&r, r.record.size).bad, 0);
	}
}

static void a_name_without_an_end_is_bad(void **state)
{
	struct sample_record r = good_sample(1);

	memset(r.record.comm, 'x', sizeof(r.record.comm));
	assert_int_equal(dispatch(&r, r.record.size).bad, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_arrives_whole),
		cmocka_unit_test(a_task_event_arrives_whole),
		cmocka_unit_test(what_nobody_wants_is_dropped),
		cmocka_unit_test(a_sample_that_is_cut_anywhere_is_bad),
		cmocka_unit_test(a_task_event_that_is_cut_anywhere_is_bad),
		cmocka_unit_test(a_mapping_that_is_cut_anywhere_is_bad),
		cmocka_unit_test(a_type_that_is_none_is_bad),
		cmocka_unit_test(an_owner_that_is_none_is_bad),
		cmocka_unit_test(a_frame_count_that_is_not_the_size_is_bad),
		cmocka_unit_test(sections_follow_each_other_and_count),
		cmocka_unit_test(a_section_that_is_too_long_is_bad),
		cmocka_unit_test(a_size_that_is_not_the_records_is_bad),
		cmocka_unit_test(a_task_event_of_another_size_is_bad),
		cmocka_unit_test(a_reason_that_is_none_is_bad),
		cmocka_unit_test(a_name_without_an_end_is_bad),
	};

	return cmocka_run_group_tests_name("kernel/sampler/record", tests, NULL, NULL);
}
