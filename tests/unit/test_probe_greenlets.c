/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_probe_greenlets.c - greenlets made of bytes, in all three layouts, as listed by a prober:
 * parents, frames, stacks copied elsewhere, threads. What does not prove itself is refused, and
 * damage does not cause endless loops.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_folder.h"
#include "support_sanitized.h"
#include "support_fake_random.h"
#include "support_greenlets.h"
#include "process/probe/probe_greenlets.h"
#include "base/system/clock.h"

/* ---- the prober ------------------------------------------------------------------------------- */

static int folder; /* of /proc/PID */
static char folder_path[TEST_FOLDER_MAX];

static void write_maps(const char *name)
{
	char file[TEST_FOLDER_MAX + 16], line[256];

	test_folder_make(folder_path);
	snprintf(file, sizeof(file), "%s/maps", folder_path);
	snprintf(line, sizeof(line), "%llx-%llx rw-p 00000000 08:01 77 %s\n", GREENLETS_ADDR,
		 GREENLETS_ADDR + GREENLETS_SIZE, name);
	test_file_put(file, line);
	folder = open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder >= 0);
}

static void remove_maps(void)
{
	close(folder);
	test_folder_remove(folder_path);
}

static int list(struct greenlets *x, const char *module)
{
	const struct probe_tasks_ask ask = { .offsets = x->f->offsets,
					     .runtime_addr = x->f->runtime_addr };
	int mem = memfd_create("memory", MFD_CLOEXEC), fd, err = 0;

	probe_tasks_free(&x->list);
	assert_true(mem >= 0);
	assert_int_equal(pwrite(mem, x->f->bytes, GREENLETS_SIZE, (off_t)GREENLETS_ADDR),
			 GREENLETS_SIZE);
	write_maps(module);
	fd = probe_greenlets_list(folder, mem, &ask);
	remove_maps();
	close(mem);
	if (fd < 0)
		return fd;
	err = probe_tasks_read(fd, &x->list);
	close(fd);
	return err;
}

#define MODULE "/x/_greenlet.cpython-312-x86_64-linux-gnu.so"

static const struct probe_task *find(const struct greenlets *x, __u64 addr)
{
	for (__u32 i = 0; i < x->list.head.task_cnt; i++)
		if (x->list.tasks[i].addr == addr)
			return &x->list.tasks[i];
	return NULL;
}

static void assert_greenlet(struct greenlets *x, __u64 addr, const char *name, __u64 parent,
			    __u32 frames, __u32 flags)
{
	const struct probe_task *t = find(x, addr);

	assert_non_null(t);
	assert_string_equal(x->list.texts + t->name, name);
	assert_int_equal(t->flags, flags | PROBE_TASK_NAMED);
	assert_int_equal(t->frame_cnt, frames);
	assert_int_equal(t->notes, 0);
	assert_int_equal(t->thread_id, GREENLETS_THREAD_ID);
	assert_int_equal(t->waiter_cnt, parent ? 1 : 0);
	if (parent)
		assert_int_equal(x->list.waiters[t->first_waiter], parent);
}

/* ---- what is there ---------------------------------------------------------------------------- */

static void all_layouts(void **state)
{
	struct greenlets *x = *state;

	for (int layout = ONE; layout <= THREE; layout++) {
		greenlets_build(x, layout);
		assert_int_equal(list(x, MODULE), 0);
		assert_int_equal(x->list.head.flags, 0);
		assert_int_equal(x->list.head.task_cnt, 5);
		assert_greenlet(x, x->main, "greenlet (main)", 0, 2, PROBE_TASK_MAIN);
		assert_greenlet(x, x->hub, "Hub", x->main, 0, PROBE_TASK_RUNS);
		assert_greenlet(x, x->waits, "greenlet", x->hub, 1, 0);
		assert_greenlet(x, x->deep, "greenlet", x->hub, 2, 0);
		assert_greenlet(x, x->fresh, "greenlet", x->hub, 0, PROBE_TASK_NEW);
	}
}

static void frames_come_root_first(void **state)
{
	struct greenlets *x = *state;
	const struct probe_task *t;

	greenlets_build(x, THREE);
	assert_int_equal(list(x, MODULE), 0);
	t = find(x, x->main);
	assert_non_null(t);
	for (int i = 0; i < 2; i++) {
		__u64 frame = fake_get(x->f, x->frame_objects[i] + 24);

		assert_int_equal(x->list.frames[t->first_frame + i].code_addr,
				 fake_get(x->f, frame + x->f->offsets.frame.executable) & ~7ULL);
	}
}

/* Its leaf has returned and not been called again: CPython clears the code (Python/ceval.c), the frame's caller stays. */
static void one_that_runs_meanwhile_is_marked(void **state)
{
	struct greenlets *x = *state;
	__u64 frame;

	greenlets_build(x, THREE);
	frame = fake_get(x->f, fake_get(x->f, greenlets_top_frame(x, x->deep)) + 24);
	fake_put(x->f, frame + x->f->offsets.frame.executable, 1);
	assert_int_equal(list(x, MODULE), 0);
	assert_int_equal(find(x, x->deep)->notes, TASK_FRAMES | TASK_TORN);
}

/*
 * If another greenlet's stack ends within an entry frame, part of that frame is in the copy and the
 * rest in place.
 */
static void a_frame_that_is_saved_in_part(void **state)
{
	static const __u32 parts[] = { 8, 40, 72, 119 };
	struct greenlets *x = *state;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		__u64 copy, there;

		greenlets_build(x, THREE);
		copy = fake_get(x->f, greenlets_stack(x, x->deep) + 16);
		there = x->stack + 1024 + 256;
		memcpy(fake_at(x->f, there + parts[i]), fake_at(x->f, copy + 256 + parts[i]),
		       120 - parts[i]);
		memset(fake_at(x->f, copy + 256 + parts[i]), 0x42, 120 - parts[i]);
		fake_put(x->f, greenlets_stack(x, x->deep) + 24, 256 + parts[i]);
		assert_int_equal(list(x, MODULE), 0);
		assert_greenlet(x, x->deep, "greenlet", x->hub, 2, 0);
	}
}

/*
 * Each is the child of the next, which comes later in the list; only the last one's parent has a
 * thread.
 */
static void parents_of_parents(void **state)
{
	struct greenlets *x = *state;
	__u64 chain[300];

	greenlets_build(x, TWO);
	for (size_t i = 0; i < 300; i++)
		chain[i] = greenlets_put(x, x->hub);
	for (size_t i = 0; i < 299; i++)
		fake_put(x->f, greenlets_parent(x, chain[i]), chain[i + 1]);
	assert_int_equal(list(x, MODULE), 0);
	assert_int_equal(x->list.head.task_cnt, 305);
	for (size_t i = 0; i < 300; i++)
		assert_greenlet(x, chain[i], "greenlet", i == 299 ? x->hub : chain[i + 1], 0,
				PROBE_TASK_NEW);
	/* A circle without an exit. */
	fake_put(x->f, greenlets_parent(x, chain[299]), chain[100]);
	assert_int_equal(list(x, MODULE), 0);
	assert_int_equal(x->list.head.flags, 0);
	for (size_t i = 0; i < 300; i++)
		assert_int_equal(find(x, chain[i])->thread_id, 0);
	assert_int_equal(find(x, x->waits)->thread_id, GREENLETS_THREAD_ID);
	/* One of its frames was on the thread's stack. */
	fake_put(x->f, greenlets_stack(x, chain[200]) + 8, x->stack + 6000);
	fake_put(x->f, greenlets_stack(x, chain[200]), x->stack + 5000);
	assert_int_equal(list(x, MODULE), 0);
	for (size_t i = 0; i < 300; i++)
		assert_int_equal(find(x, chain[i])->thread_id, GREENLETS_THREAD_ID);
}

/* ---- what is refused -------------------------------------------------------------------------- */

static void other_programs(void **state)
{
	struct greenlets *x = *state;

	greenlets_build(x, THREE);
	assert_int_equal(list(x, "/x/_greenlets.so"), -ENOENT);
	x->f->offsets.flags |= PYOFF_FREE_THREADED;
	assert_int_equal(list(x, MODULE), -EXFULL);
	greenlets_build(x, THREE);
	fake_put(x->f, x->greenlet_type + 32, 48); /* an object of another size */
	assert_int_equal(list(x, MODULE), -EPROTONOSUPPORT);
	greenlets_build(x, THREE);
	fake_put(x->f, x->greenlet_type + 24, greenlets_put_text(x->f, "greenlet.greenlet2"));
	assert_int_equal(list(x, MODULE), -EPROTONOSUPPORT);
}

/* A main greenlet whose thread state is another's or invalid: nothing is certain. */
static void nothing_is_proved(void **state)
{
	struct greenlets *x = *state;

	for (int layout = TWO; layout <= THREE; layout++) {
		__u32 end = layout == TWO ? GREENLETS_END_2 : GREENLETS_END_3;

		greenlets_build(x, layout);
		fake_put(x->f, fake_get(x->f, greenlets_impl(x, x->main) + end + 8), x->hub);
		assert_int_equal(list(x, MODULE), -EPROTONOSUPPORT);
		greenlets_build(x, layout);
		fake_put(x->f, greenlets_impl(x, x->main) + end + 8, 24);
		assert_int_equal(list(x, MODULE), -EPROTONOSUPPORT);
	}
}

static void assert_left_out(struct greenlets *x, __u64 addr, __u32 others)
{
	assert_int_equal(list(x, MODULE), 0);
	assert_null(find(x, addr));
	assert_int_equal(x->list.head.task_cnt, others);
	assert_int_equal(x->list.head.flags, PROBE_TASKS_CHANGED);
}

static void one_is_not_proved(void **state)
{
	struct greenlets *x = *state;

	for (int layout = ONE; layout <= THREE; layout++) {
		if (layout != ONE) {
			/* Its C++ object belongs to another. */
			greenlets_build(x, layout);
			fake_put(x->f, x->waits + 32, greenlets_impl(x, x->hub));
			assert_left_out(x, x->waits, 4);
		}
		/* Its parent is no greenlet. */
		greenlets_build(x, layout);
		fake_put(x->f, greenlets_parent(x, x->waits), x->type_type);
		assert_left_out(x, x->waits, 4);
		/* Its frame object is invalid; the frame belongs to another object. */
		greenlets_build(x, layout);
		fake_put(x->f, greenlets_top_frame(x, x->waits), x->type_type);
		assert_left_out(x, x->waits, 4);
		greenlets_build(x, layout);
		fake_put(x->f, fake_get(x->f, greenlets_top_frame(x, x->waits)) + 24,
			 fake_get(x->f, x->frame_objects[0] + 24));
		assert_left_out(x, x->waits, 4);
		/* Its stack ends before it begins; more is saved than it has. */
		greenlets_build(x, layout);
		fake_put(x->f, greenlets_stack(x, x->waits) + 8, x->stack);
		assert_left_out(x, x->waits, 4);
		greenlets_build(x, layout);
		fake_put(x->f, greenlets_stack(x, x->deep) + 24, 1 << 20);
		assert_left_out(x, x->deep, 4);
	}
}

/* ---- what does not end ------------------------------------------------------------------------ */

static void circles_end(void **state)
{
	struct greenlets *x = *state;
	__u64 frame;

	greenlets_build(x, THREE);
	fake_put(x->f, greenlets_parent(x, x->hub), x->waits);
	assert_int_equal(list(x, MODULE), 0);
	assert_int_equal(x->list.head.task_cnt, 5);
	greenlets_build(x, THREE);
	frame = fake_get(x->f, fake_get(x->f, greenlets_top_frame(x, x->waits)) + 24);
	fake_put(x->f, frame + x->f->offsets.frame.previous, frame);
	assert_int_equal(list(x, MODULE), 0);
	assert_int_equal(find(x, x->waits)->notes & TASK_FRAMES, TASK_FRAMES);
}

/* A wrong link: lists what is reachable from both ends, and says that it may be incomplete. */
static void lists_that_change(void **state)
{
	struct greenlets *x = *state;

	greenlets_build(x, THREE);
	fake_put(x->f, x->waits - 16, x->main - 16);
	assert_int_equal(list(x, MODULE), 0);
	assert_int_equal(x->list.head.flags, PROBE_TASKS_CHANGED);
	assert_int_equal(x->list.head.task_cnt, 5);
	greenlets_build(x, THREE);
	fake_put_u32(x->f, x->interp + GREENLETS_GC, 1);
	assert_int_equal(list(x, MODULE), 0);
	assert_int_equal(x->list.head.flags, PROBE_TASKS_CHANGED);
}

/* 3.13.18 aligns the list heads to 4 bytes. */
static void heads_of_four_bytes(void **state)
{
	struct greenlets *x = *state;
	__u64 head, first, last;

	greenlets_build(x, THREE);
	head = x->interp + GREENLETS_OLD;
	first = fake_get(x->f, head) & ~7ULL;
	last = fake_get(x->f, head + 8) & ~7ULL;
	head += 4;
	fake_put(x->f, head, first);
	fake_put(x->f, head + 8, last);
	fake_put(x->f, first + 8, head | 2);
	fake_put(x->f, last, head | 1);
	assert_int_equal(list(x, MODULE), 0);
	assert_int_equal(x->list.head.flags, 0);
	assert_int_equal(x->list.head.task_cnt, 5);
}

/* An interpreter always has objects: if none are found, "there are no greenlets" would be wrong. */
static void no_list_is_found(void **state)
{
	struct greenlets *x = *state;

	greenlets_build(x, THREE);
	fake_put(x->f, x->interp + GREENLETS_OLD, x->interp + GREENLETS_OLD);
	fake_put(x->f, x->interp + GREENLETS_OLD + 8, x->interp + GREENLETS_OLD);
	assert_int_equal(list(x, MODULE), -EPROTONOSUPPORT);
}

static void damage_ends(void **state)
{
	struct greenlets *x = *state;
	struct rng rng = rng_from_environment();
	unsigned lists = 0;

	for (int round = 0; round < TIMES(600); round++) {
		__u64 begin;
		int err;

		greenlets_build(x, round % 3);
		fake_mutate(x->f, &rng, 1 + rng_below(&rng, round % 2 ? 8 : 200));
		begin = clock_monotonic_ns();
		err = list(x, MODULE);
		assert_true(clock_monotonic_ns() - begin < 10 * NS_PER_SEC);
		assert_true(!err || err == -EPROTONOSUPPORT || err == -EFAULT);
		lists += !err && x->list.head.task_cnt;
	}
	/* Else it was for nothing. */
	assert_true(lists > TIMES(600) / 6);
}

static int begin(void **state)
{
	*state = calloc(1, sizeof(struct greenlets));
	return *state ? 0 : -1;
}

static int end(void **state)
{
	struct greenlets *x = *state;

	if (x->f)
		fake_free(x->f);
	probe_tasks_free(&x->list);
	free(x);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_layouts),
		cmocka_unit_test(a_frame_that_is_saved_in_part),
		cmocka_unit_test(frames_come_root_first),
		cmocka_unit_test(one_that_runs_meanwhile_is_marked),
		cmocka_unit_test(parents_of_parents),
		cmocka_unit_test(other_programs),
		cmocka_unit_test(nothing_is_proved),
		cmocka_unit_test(one_is_not_proved),
		cmocka_unit_test(circles_end),
		cmocka_unit_test(lists_that_change),
		cmocka_unit_test(heads_of_four_bytes),
		cmocka_unit_test(no_list_is_found),
		cmocka_unit_test(damage_ends),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
