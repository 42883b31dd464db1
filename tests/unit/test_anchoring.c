/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_anchoring.c - which threads krait writes to, and when: only threads of admitted processes,
 * none that is young or not dumpable, never again one that refused; the epoch is set only after the
 * answer; all slots are cleared at the end.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "kernel/maps/anchors.h"
#include "kernel/sampler/record.h"
#include "record/anchors/anchoring.h"
#include "base/system/clock.h"

#define PROCESS_CNT 100
#define DEPTH 300
#define ASKS_MAX 4096

struct ask {
	struct probe_request request;
	probe_done_fn done;
	void *ctx;
};

/* Requests that would have gone to a prober. */
struct fixture {
	struct anchoring *anchoring;
	struct anchors *anchors;
	struct anchor *map;
	int fd, ties, slots, ask_cnt, forgotten;
	struct ask asks[ASKS_MAX];
};

static int ask(void *ctx, const struct probe_request *r, const int fds[2], probe_done_fn done,
	       void *done_ctx)
{
	struct fixture *f = ctx;

	assert_true(f->ask_cnt < ASKS_MAX);
	f->asks[f->ask_cnt++] = (struct ask){ *r, done, done_ctx };
	return 0;
}

static void forget(void *ctx, const void *done_ctx)
{
	struct fixture *f = ctx;

	f->forgotten++;
	for (int i = 0; i < f->ask_cnt; i++) {
		if (f->asks[i].ctx == done_ctx)
			f->asks[i].done = NULL;
	}
}

static int add(void *ctx, const struct record_sample *record, __u32 *slot)
{
	struct fixture *f = ctx;

	f->slots += *slot == KRAIT_NO_SLOT;
	*slot = record->tid;
	return 0;
}

static void give_back(void *ctx, __u32 slot, pid_t tid, __u64 start_ns)
{
	struct fixture *f = ctx;

	assert_int_equal(slot, tid);
	f->slots--;
}

static int tie(void *ctx, __u32 slot, pid_t tid, __u64 start_ns, __u32 anchor)
{
	struct fixture *f = ctx;

	assert_int_equal(slot, tid);

	f->ties += anchor == KRAIT_NO_ANCHOR ? -1 : 1;
	return 0;
}

/* Answers the oldest request. */
static void answer(struct fixture *f, int result, __u64 lpf_addr, bool with_data)
{
	struct probe_anchor_state state = { .lpf_addr = lpf_addr, .seq = 77 };
	struct ask a = f->asks[0];
	int fds[PROBE_FDS_MAX] = { -1, -1, -1 };

	assert_true(f->ask_cnt > 0);
	memmove(f->asks, f->asks + 1, --f->ask_cnt * sizeof(*f->asks));
	if (a.done)
		a.done(a.ctx, result, with_data ? &state : NULL, with_data ? sizeof(state) : 0,
		       fds);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct anchor_access access = { ask, forget, add, give_back, tie, f };
	size_t bytes = KRAIT_MAX_ANCHORS * sizeof(struct anchor);

	f->fd = memfd_create("anchors", 0);
	assert_true(f->fd >= 0 && !ftruncate(f->fd, (off_t)bytes));
	f->map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	assert_ptr_not_equal(f->map, MAP_FAILED);
	f->anchors = anchors__new(f->fd, KRAIT_MAX_ANCHORS);
	f->anchoring = anchoring__new(ANCHOR_MODE_ON, f->anchors, &access);
	assert_true(f->anchors && f->anchoring);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	anchoring__free(f->anchoring);
	assert_int_equal(f->ties, 0);
	assert_int_equal(f->slots, 0);
	anchors__free(f->anchors);
	munmap(f->map, KRAIT_MAX_ANCHORS * sizeof(struct anchor));
	close(f->fd);
	free(f);
	return 0;
}

static void admit(struct fixture *f, pid_t pid)
{
	const struct anchor_process process = {
		.pid = pid, .start_ns = 1, .since_ns = 10, .creds_digest = 5, .dir = -1, .mem = -1
	};

	anchoring__admit(f->anchoring, &process);
}

static struct record_sample event_of(pid_t pid, pid_t tid)
{
	return (struct record_sample){
		.time_ns = 100,
		.pid = (__u32)pid,
		.tid = (__u32)tid,
		.thread_start_ns = 1,
		.cnt[SECTION_FRAMES] = DEPTH,
		.tstate_addr = 0x7000,
		.flags = SAMPLE_DUMPABLE,
	};
}

/* As the anchor thread does. */
static void put(struct fixture *f, const struct record_sample *record)
{
	static struct frame frames[DEPTH];

	for (__u32 i = 0; i < DEPTH; i++)
		frames[i] = (struct frame){ 0x1000 + i, 0x100000 - 64 * i, (__s32)i, 0 };
	anchoring__sample(f->anchoring, record, frames);
}

/* Enough samples for a decision. */
static void put_many(struct fixture *f, struct record_sample record)
{
	for (int i = 0; i < 20; i++) {
		record.time_ns += 1000000;
		put(f, &record);
	}
	anchoring__flush(f->anchoring);
}

static void test_written_and_believed_after_the_answer(void **state)
{
	struct fixture *f = *state;
	const struct probe_anchor *asked = &f->asks[0].request.anchor;

	admit(f, 7);
	put_many(f, event_of(7, 8));
	assert_int_equal(f->ask_cnt, 1);
	assert_int_equal(f->asks[0].request.op, PROBE_ANCHOR_WRITE);
	assert_int_equal(f->asks[0].request.pid, 7);
	assert_int_equal(asked->tstate_addr, 0x7000);
	assert_int_equal(asked->creds_digest, 5);
	assert_false(asked->foreign_ok);
	assert_int_equal(f->map[0].epoch, 0);
	assert_int_equal(f->map[0].addrs[0], asked->frame_addr);
	put_many(f, event_of(7, 8)); /* one request at a time */
	assert_int_equal(f->ask_cnt, 1);
	answer(f, 0, 0, true);
	assert_int_equal(f->map[0].seq, 77);
	assert_int_not_equal(f->map[0].epoch, 0);
	assert_int_equal(anchoring__stats(f->anchoring)->writes, 1);
}

static void test_who_is_not_written_to(void **state)
{
	struct fixture *f = *state;
	struct record_sample record = event_of(7, 8);
	struct timespec now;

	put_many(f, record); /* not admitted */
	assert_int_equal(f->ask_cnt, 0);
	admit(f, 7);
	record.time_ns = 5; /* before that: possibly another image */
	put(f, &record);
	assert_int_equal(anchoring__stats(f->anchoring)->threads, 0);
	record = event_of(7, 8);
	record.flags = 0; /* not dumpable */
	put_many(f, record);
	assert_int_equal(f->ask_cnt, 0);
	record = event_of(7, 8);
	record.no_anchors = 1; /* writing to it failed */
	assert_false(record_is_for_anchors(&record, KRAIT_ANCHOR_WORTH));
	put_many(f, record);
	assert_int_equal(f->ask_cnt, 0);
	clock_gettime(CLOCK_BOOTTIME, &now);
	record = event_of(7, 9);
	record.thread_start_ns = (__u64)now.tv_sec * NS_PER_SEC; /* young */
	put_many(f, record);
	assert_int_equal(f->ask_cnt, 0);
	put_many(f, event_of(7, 8));
	assert_int_equal(f->ask_cnt, 1);
}

static void test_refused_once_is_left_alone(void **state)
{
	struct fixture *f = *state;

	admit(f, 7);
	put_many(f, event_of(7, 8));
	answer(f, -EPERM, 0, true);
	assert_int_equal(f->ties, 0);
	put_many(f, event_of(7, 8));
	assert_int_equal(f->ask_cnt, 0);
	put_many(f, event_of(7, 9)); /* its other threads are still handled */
	assert_int_equal(f->ask_cnt, 1);
}

/* An audit that finds a wrong base. */
static void find_wrong_base(struct fixture *f, struct record_sample record)
{
	record.time_ns += NS_PER_SEC;
	record.anchor_epoch = 9;
	record.anchor_index = 3;
	record.anchor = ANCHOR_NOTE_CONFIRM;
	put(f, &record);
	record.anchor_index = 5;
	record.anchor = ANCHOR_NOTE_AUDIT;
	put(f, &record);
}

/* An audit finds a wrong base before the prober has answered: no anchor may be trusted any more. */
static void test_refused_while_it_is_written(void **state)
{
	struct fixture *f = *state;
	struct record_sample record = event_of(7, 8);

	admit(f, 7);
	put_many(f, record);
	assert_int_equal(f->ask_cnt, 1);
	find_wrong_base(f, record);
	assert_int_equal(f->ties, 0);
	answer(f, 0, 0, true);
	assert_int_equal(anchoring__stats(f->anchoring)->writes, 0);
	assert_int_equal(f->ask_cnt, 1);
	assert_int_equal(f->asks[0].request.op, PROBE_ANCHOR_WRITE);
	assert_int_equal(f->asks[0].request.anchor.frame_addr, 0);
	answer(f, 0, 0, true);
	put_many(f, event_of(7, 8));
	assert_int_equal(f->ask_cnt, 0);
}

/* Likewise for a thread under observation: its slot being empty does not bring it back. */
static void test_refused_while_it_is_looked_at(void **state)
{
	struct fixture *f = *state;
	struct record_sample record = event_of(7, 8);

	admit(f, 7);
	put_many(f, record);
	answer(f, -EBUSY, 0x5555, true);
	anchoring__flush(f->anchoring);
	answer(f, 0, 0, true);
	usleep(2100000);
	record.time_ns = clock_monotonic_ns();
	put(f, &record);
	anchoring__flush(f->anchoring);
	assert_int_equal(f->ask_cnt, 1);
	assert_int_equal(f->asks[0].request.op, PROBE_ANCHOR_READ);
	find_wrong_base(f, record);
	answer(f, 0, 0, true);
	put_many(f, record);
	assert_int_equal(f->ask_cnt, 0);
}

static void test_process_that_hangs_hangs_nobody_else(void **state)
{
	struct fixture *f = *state;

	admit(f, 7);
	admit(f, 17);
	put_many(f, event_of(7, 8));
	put_many(f, event_of(17, 18));
	assert_int_equal(f->ask_cnt, 2); /* no longer waiting for the first answer */
	answer(f, -ETIMEDOUT, 0, false);
	answer(f, 0, 0, true);
	put_many(f, event_of(7, 9));
	assert_int_equal(f->ask_cnt, 0);
	assert_int_equal(anchoring__stats(f->anchoring)->writes, 1);
}

static void test_strangers_slot_is_emptied_and_watched(void **state)
{
	struct fixture *f = *state;
	struct record_sample record = event_of(7, 8);

	admit(f, 7);
	put_many(f, record);
	answer(f, -EBUSY, 0x5555, true);
	anchoring__flush(f->anchoring);
	assert_int_equal(f->ask_cnt, 1);
	assert_int_equal(f->asks[0].request.anchor.frame_addr, 0);
	assert_true(f->asks[0].request.anchor.foreign_ok);
	answer(f, 0, 0x5555, true);
	put_many(f, record);
	assert_int_equal(f->ask_cnt, 0); /* not yet */
	assert_int_equal(anchoring__stats(f->anchoring)->writes, 0);
}

static void thread_gone(struct fixture *f, pid_t tid, __u64 start_ns)
{
	anchoring__task(f->anchoring, &(struct record_task){ .type = RECORD_THREAD_EXIT,
							     .tid = (__u32)tid,
							     .start_ns = start_ns });
}

static void process_gone(struct fixture *f, pid_t pid, __u64 start_ns, __u64 time_ns)
{
	anchoring__task(f->anchoring, &(struct record_task){ .type = RECORD_EXIT,
							     .pid = (__u32)pid,
							     .start_ns = start_ns,
							     .time_ns = time_ns });
}

static void test_what_is_gone_is_forgotten(void **state)
{
	struct fixture *f = *state;

	admit(f, 7);
	put_many(f, event_of(7, 8));
	put_many(f, event_of(7, 9));
	assert_int_equal(f->ties, 2);
	thread_gone(f, 8, 2); /* an earlier one */
	assert_int_equal(f->ties, 2);
	thread_gone(f, 8, 1);
	assert_int_equal(f->ties, 1);
	process_gone(f, 7, 1 + 2 * KRAIT_NS_PER_TICK, 1000); /* another one */
	process_gone(f, 7, 1, 10); /* its earlier image */
	assert_int_equal(f->ties, 1);
	process_gone(f, 7, 1, 1000);
	assert_int_equal(f->ties, 0);
	assert_int_equal(f->forgotten, 2);
	answer(f, 0, 0, true);
	answer(f, 0, 0, true);
	put_many(f, event_of(7, 9));
	assert_int_equal(f->ask_cnt, 0);
}

static void test_process_takes_its_threads_along(void **state)
{
	struct fixture *f = *state;
	struct record_sample record;

	for (pid_t pid = 1; pid <= PROCESS_CNT; pid++) {
		admit(f, pid);
		record = event_of(pid, pid);
		put(f, &record);
		record = event_of(pid, PROCESS_CNT + pid);
		put(f, &record);
	}
	assert_int_equal(anchoring__stats(f->anchoring)->threads, 2 * PROCESS_CNT);
	thread_gone(f, PROCESS_CNT + 1, 1);
	assert_int_equal(anchoring__stats(f->anchoring)->threads, 2 * PROCESS_CNT - 1);
	/* no process with that number */
	process_gone(f, PROCESS_CNT + 1, 1, 1000);
	assert_int_equal(anchoring__stats(f->anchoring)->threads, 2 * PROCESS_CNT - 1);
	assert_int_equal(f->slots, 2 * PROCESS_CNT - 1);
	for (pid_t pid = 1; pid <= PROCESS_CNT; pid++)
		process_gone(f, pid, 1, 1000);
	assert_int_equal(anchoring__stats(f->anchoring)->threads, 0);
	assert_int_equal(f->slots, 0);
}

static void test_all_is_cleared_at_the_end(void **state)
{
	struct fixture *f = *state;

	admit(f, 7);
	put_many(f, event_of(7, 8));
	put_many(f, event_of(7, 9));
	answer(f, 0, 0, true); /* the other answer comes late */
	assert_true(anchoring__detach(f->anchoring));
	assert_int_equal(f->ask_cnt, 2);
	answer(f, 0, 0, true);
	assert_true(anchoring__detach(f->anchoring));
	assert_int_equal(f->ask_cnt, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(f->asks[0].request.op, PROBE_ANCHOR_WRITE);
		assert_int_equal(f->asks[0].request.anchor.frame_addr, 0);
		assert_int_equal(f->map[i].epoch, 0);
		answer(f, 0, 0, true);
	}
	assert_false(anchoring__detach(f->anchoring));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_written_and_believed_after_the_answer),
		TEST(test_who_is_not_written_to),
		TEST(test_refused_once_is_left_alone),
		TEST(test_refused_while_it_is_written),
		TEST(test_refused_while_it_is_looked_at),
		TEST(test_process_that_hangs_hangs_nobody_else),
		TEST(test_strangers_slot_is_emptied_and_watched),
		TEST(test_what_is_gone_is_forgotten),
		TEST(test_process_takes_its_threads_along),
		TEST(test_all_is_cleared_at_the_end),
	};

	return cmocka_run_group_tests_name("anchoring", tests, NULL, NULL);
}
