/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_charging.c - native threads count for the call that waits for them: who waits, who does not, and what is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bpf/record.h"
#include "capture/import/charging.h"
#include "profile/frames.h"
#include "profile/marks.h"
#include "support_profile.h"

#define MS 1000000ULL
#define BLAS "/x/site-packages/numpy.libs/libopenblas.so"
#define OTHER "/x/site-packages/polars/polars.so"
#define GOMP "/x/site-packages/torch/lib/libgomp-1.so.1"
#define LIBC "/lib/libc.so.6"
#define MALLOC "/x/site-packages/y.libs/libjemalloc-2.so"

struct fixture {
	struct profile *p;
	struct charging *c;
	struct charging_stats stats;
	__u32 taken[2048];
	unsigned cnt;
	__u32 threads[8]; /* node by number */
};

static int take(void *ctx, const struct profile_sample *s)
{
	struct fixture *x = ctx;

	assert_true(x->cnt < 2048);
	x->taken[x->cnt++] = s->node;
	return 0;
}

static void begin(struct fixture *x, bool no_native)
{
	*x = (struct fixture){ .p = profile__new() };
	x->c = charging__new(&(struct charging_config){ .dict = x->p->dict,
							.no_native = no_native,
							.no_kernel = no_native,
							.take = take,
							.ctx = x });
	for (int i = 0; i < 8; i++)
		x->threads[i] = push(x->p, push(x->p, 0, add_process(x->p, "x", 1)),
				     add_thread(x->p, "t", 1, i));
}

static void end(struct fixture *x)
{
	assert_int_equal(charging__finish(x->c, &x->stats), 0);
	charging__free(x->c);
}

static __u32 native(struct fixture *x, __u32 under, const char *name, const char *file)
{
	return push(x->p, under, dict__plain_frame(x->p->dict, FRAME_NATIVE, name, file, 0));
}

/* Thread i is at that line, in a call of the library, or computes itself if file is NULL. */
static __u32 python(struct fixture *x, int i, int line, const char *file)
{
	__u32 node = push(x->p, x->threads[i], add_function(x->p, "main", "m.py", 1, 1));

	node = push(x->p, node, add_function(x->p, "job", "m.py", 5, line));
	return file ? native(x, native(x, node, "call", file), "futex", LIBC) : node;
}

static __u32 worker(struct fixture *x, int i, const char *file)
{
	__u32 node = push(x->p, x->threads[i], add_mark(x->p, mark_of(REASON_NATIVE_THREAD)));

	return native(x, native(x, node, "start_thread", LIBC), "kernel", file);
}

static void sample_of(struct fixture *x, int pid, int thread, __u32 node, __u64 from_ms,
		      __u64 to_ms)
{
	const struct charging_sample s = {
		.sample = { .node = node, .pid = pid, .tid = thread, .period = 1 },
		.from_ns = from_ms * MS,
		.to_ns = to_ms * MS,
		.near_ns = MS,
		.is_wait = from_ms > 0,
		.wanted = true,
	};

	assert_int_equal(charging__add(x->c, &s), 0);
}

static void sample(struct fixture *x, int thread, __u32 node, __u64 from_ms, __u64 to_ms)
{
	sample_of(x, 1, thread, node, from_ms, to_ms);
}

/* "main;job:6;kernel" of the i-th sample that was passed on, without processes and threads. */
static const char *stack(const struct fixture *x, unsigned i)
{
	static char text[256];
	const struct dict *d = x->p->dict;
	char below[256] = "";

	for (__u32 node = x->taken[i]; node; node = dict__node_at(d, node)->parent) {
		const struct profile_frame *f = dict__frame_at(d, dict__node_at(d, node)->frame);

		if (f->kind == FRAME_PROCESS)
			continue;
		if (f->kind == FRAME_THREAD)
			snprintf(text, sizeof(text), "%d%s", f->tid, below);
		else if (f->kind == FRAME_PYTHON)
			snprintf(text, sizeof(text), ";%s:%d%s", dict__text(d, f->name), f->line,
				 below);
		else
			snprintf(text, sizeof(text), ";%s%s", dict__text(d, f->name), below);
		strcpy(below, text);
	}
	return text;
}

static void the_thread_that_waits_in_the_library_is_charged(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x, false);
	sample(&x, 2, worker(&x, 2, BLAS), 0, 15);
	sample(&x, 3, worker(&x, 3, BLAS), 0, 40);
	sample(&x, 1, python(&x, 1, 6, BLAS), 10, 20);
	end(&x);
	assert_string_equal(stack(&x, 0), "2;main:1;job:6;[native thread];start_thread;kernel");
	assert_string_equal(stack(&x, 1), "3;[native thread];start_thread;kernel");
	assert_string_equal(stack(&x, 2), "1;main:1;job:6;call;futex");
	assert_int_equal(x.stats.samples, 2);
	assert_int_equal(x.stats.charged, 1);
	assert_int_equal(x.stats.several, 0);
	profile__free(x.p);
}

/* Without waits: samples in the same call before and after it, or one close by. */
static void so_is_one_that_runs_there(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x, true);
	sample(&x, 1, python(&x, 1, 6, BLAS), 0, 10);
	sample(&x, 2, worker(&x, 2, BLAS), 0, 40);
	sample(&x, 1, python(&x, 1, 6, BLAS), 0, 70);
	sample(&x, 2, worker(&x, 2, BLAS), 0, 72);
	sample(&x, 1, python(&x, 1, 7, BLAS), 0, 75);
	sample(&x, 2, worker(&x, 2, BLAS), 0, 76);
	sample(&x, 1, python(&x, 1, 7, NULL), 0, 77);
	end(&x);
	/* What C does counts for the line, here, too. */
	assert_string_equal(stack(&x, 0), "1;main:1;job:6");
	assert_string_equal(stack(&x, 1), "2;main:1;job:6");
	assert_string_equal(stack(&x, 3), "2;[native thread]");
	assert_string_equal(stack(&x, 5), "2;main:1;job:7");
	assert_string_equal(stack(&x, 6), "1;main:1;job:7");
	assert_int_equal(x.stats.charged, 2);
	profile__free(x.p);
}

static void several_waiters_and_other_libraries_keep_it_apart(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x, true);
	sample(&x, 4, worker(&x, 4, BLAS), 0, 15);
	sample(&x, 5, worker(&x, 5, OTHER), 0, 15);
	sample(&x, 6, worker(&x, 6, LIBC), 0, 15);
	sample(&x, 1, python(&x, 1, 6, BLAS), 10, 20);
	sample(&x, 2, python(&x, 2, 6, BLAS), 12, 20);
	sample(&x, 3, python(&x, 3, 9, OTHER), 12, 30);
	end(&x);
	assert_string_equal(stack(&x, 0), "4;[native thread]");
	assert_string_equal(stack(&x, 1), "5;main:1;job:9");
	assert_string_equal(stack(&x, 2), "6;[native thread]");
	assert_int_equal(x.stats.samples, 3);
	assert_int_equal(x.stats.charged, 1);
	assert_int_equal(x.stats.several, 1);
	profile__free(x.p);
}

/* An OpenMP runtime is common to libraries: it decides only where there is nothing else. */
static void runtimes_say_little(void **state)
{
	struct fixture x;
	__u32 caller, idle;

	(void)state;
	begin(&x, true);
	caller = native(&x, python(&x, 1, 6, BLAS), "GOMP_parallel", GOMP);
	idle = worker(&x, 4, GOMP);
	sample(&x, 4, native(&x, idle, "part", OTHER), 0, 15);
	sample(&x, 4, idle, 0, 15);
	sample(&x, 1, caller, 10, 20);
	end(&x);
	assert_string_equal(stack(&x, 0), "4;[native thread]");
	assert_string_equal(stack(&x, 1), "4;main:1;job:6");
	profile__free(x.p);
}

/* Whoever allocates is in the same library as everybody else who does. */
static void allocators_say_nothing(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x, true);
	sample(&x, 4, worker(&x, 4, MALLOC), 0, 15);
	sample(&x, 5, native(&x, worker(&x, 5, OTHER), "free", MALLOC), 0, 15);
	sample(&x, 1, native(&x, python(&x, 1, 6, BLAS), "malloc", MALLOC), 10, 20);
	end(&x);
	assert_int_equal(x.stats.samples, 2);
	assert_int_equal(x.stats.charged, 0);
	assert_int_equal(x.stats.several, 0);
	profile__free(x.p);
}

/* Each looks for its waiter among 1,024 calls at most; of more, none is looked at. */
static void a_crowd_of_waiters_counts_as_several(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x, true);
	sample(&x, 2, worker(&x, 2, OTHER), 0, 15);
	sample(&x, 2, worker(&x, 2, OTHER), 0, 35);
	sample(&x, 1, python(&x, 1, 9, OTHER), 10, 40);
	for (int i = 0; i < 1024; i++)
		sample(&x, 100 + i, python(&x, 3, 6, BLAS), 11, i % 2 ? 20 : 30);
	/* Another process begins anew. */
	sample_of(&x, 2, 2, worker(&x, 5, OTHER), 0, 15);
	sample_of(&x, 2, 1, python(&x, 4, 9, OTHER), 10, 40);
	end(&x);
	assert_string_equal(stack(&x, 0), "2;[native thread]");
	assert_string_equal(stack(&x, 1), "2;main:1;job:9");
	assert_string_equal(stack(&x, x.cnt - 2), "5;main:1;job:9");
	assert_int_equal(x.stats.several, 1);
	assert_int_equal(x.stats.crowded, 1);
	assert_int_equal(x.stats.charged, 2);
	profile__free(x.p);
}

static void nobody_waits_for_another_process(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x, true);
	sample_of(&x, 1, 2, worker(&x, 2, BLAS), 0, 15);
	sample_of(&x, 2, 3, worker(&x, 3, BLAS), 0, 15);
	sample_of(&x, 2, 1, python(&x, 1, 6, BLAS), 10, 20);
	end(&x);
	assert_string_equal(stack(&x, 0), "2;[native thread]");
	assert_string_equal(stack(&x, 1), "3;main:1;job:6");
	assert_int_equal(x.stats.charged, 1);
	profile__free(x.p);
}

/* Frames that are not wanted go from all stacks, and make none of stacks that nobody asked for. */
static void unwanted_frames_are_dropped_from_what_is_passed_on(void **state)
{
	struct fixture x;
	__u32 wait, before;

	(void)state;
	begin(&x, true);
	wait = push(x.p, python(&x, 1, 6, BLAS),
		    dict__plain_frame(x.p->dict, FRAME_KERNEL, "futex_wait", "[kernel.kallsyms]",
				      0));
	push(x.p, python(&x, 3, 6, OTHER), add_function(x.p, "unasked", "m.py", 7, 8));
	sample(&x, 2, worker(&x, 2, BLAS), 0, 15);
	sample(&x, 1, wait, 10, 20);
	sample(&x, 1, wait, 30, 40);
	before = dict__node_cnt(x.p->dict);
	end(&x);
	assert_string_equal(stack(&x, 0), "2;main:1;job:6");
	assert_string_equal(stack(&x, 1), "1;main:1;job:6");
	assert_int_equal(x.taken[1], x.taken[2]);
	/* The two Python functions below the native thread; the waiter's are there. */
	assert_int_equal(dict__node_cnt(x.p->dict) - before, 2);
	profile__free(x.p);
}

/* What was not asked for only says who waits; waits of native threads are theirs. */
static void nothing_else_is_passed_on_or_charged(void **state)
{
	struct fixture x;
	struct charging_sample s = { .sample = { .pid = 1, .tid = 1 }, .is_wait = true };

	(void)state;
	begin(&x, false);
	sample(&x, 2, worker(&x, 2, BLAS), 0, 15);
	sample(&x, 2, worker(&x, 2, BLAS), 15, 18);
	s.sample.node = python(&x, 1, 6, BLAS);
	s.from_ns = 10 * MS;
	s.to_ns = 20 * MS;
	assert_int_equal(charging__add(x.c, &s), 0);
	end(&x);
	assert_int_equal(x.cnt, 2);
	assert_string_equal(stack(&x, 0), "2;main:1;job:6;[native thread];start_thread;kernel");
	assert_string_equal(stack(&x, 1), "2;[native thread];start_thread;kernel");
	profile__free(x.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_thread_that_waits_in_the_library_is_charged),
		cmocka_unit_test(so_is_one_that_runs_there),
		cmocka_unit_test(several_waiters_and_other_libraries_keep_it_apart),
		cmocka_unit_test(runtimes_say_little),
		cmocka_unit_test(allocators_say_nothing),
		cmocka_unit_test(a_crowd_of_waiters_counts_as_several),
		cmocka_unit_test(nobody_waits_for_another_process),
		cmocka_unit_test(unwanted_frames_are_dropped_from_what_is_passed_on),
		cmocka_unit_test(nothing_else_is_passed_on_or_charged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
