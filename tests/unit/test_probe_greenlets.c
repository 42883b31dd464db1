/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_probe_greenlets.c - greenlets made of bytes, in all three layouts, as a prober lists them: parents, frames, stacks that
 * are elsewhere, threads. What does not prove itself is refused, what is damaged ends.
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

#include "support_fake_interpreter.h"
#include "support_fake_random.h"
#include "target/probe_greenlets.h"
#include "util/clock.h"

#define IMAGE_ADDR 0x7f0000000000ULL
#define IMAGE_SIZE (512 << 10)
#define THREAD_ID 4711
/* In a PyInterpreterState. */
#define GC_COLLECTING 4096
#define YOUNG (GC_COLLECTING - 128)
#define OLD (GC_COLLECTING - 104)
/* Where the end of a C++ object begins in 3.12: of layouts 2 and 3. */
#define END_2 160
#define END_3 168
#define PYTHON_3_12 0x030c01f0

enum layout { ONE, TWO, THREE };

struct image {
	struct fake *f;
	enum layout layout;
	__u64 interp, type_type, frame_type, greenlet_type, hub_type;
	__u64 main, hub, waits, deep, fresh; /* greenlets */
	__u64 stack; /* of the thread */
	__u64 frame_objects[8];
	__u32 frame_cnt;
	struct probe_tasks list;
};

static __u64 put_text(struct fake *f, const char *text)
{
	__u64 addr = fake_alloc(f, strlen(text) + 1);

	memcpy(fake_at(f, addr), text, strlen(text) + 1);
	return addr;
}

static __u64 put_type(struct image *x, const char *name, __u64 size, __u64 base)
{
	__u64 addr = fake_alloc(x->f, 400);

	fake_put(x->f, addr + 8, x->type_type ? x->type_type : addr);
	fake_put(x->f, addr + 24, put_text(x->f, name));
	fake_put(x->f, addr + 32, size);
	fake_put(x->f, addr + 256, base);
	return addr;
}

/* Behind what is in the list already. */
static __u64 put_object(struct image *x, __u64 head, __u64 type, __u64 size)
{
	struct fake *f = x->f;
	__u64 links = fake_alloc(f, size + 16), last = fake_get(f, head + 8);

	/* The lowest bits are the collector's. */
	fake_put(f, links, head);
	fake_put(f, links + 8, last | 2);
	fake_put(f, last, links | 1);
	fake_put(f, head + 8, links);
	fake_put(f, links + 16, 1);
	fake_put(f, links + 16 + 8, type);
	return links + 16;
}

static __u64 impl_of(struct image *x, __u64 greenlet)
{
	return x->layout == ONE ? greenlet : fake_get(x->f, greenlet + 32);
}

static __u64 stack_of(struct image *x, __u64 greenlet)
{
	static const __u32 at[] = { 16, 8 + 24 + 16, 16 + 24 + 16 };

	return impl_of(x, greenlet) + at[x->layout];
}

static __u64 top_frame_of(struct image *x, __u64 greenlet)
{
	return x->layout == ONE ? greenlet + 72 : stack_of(x, greenlet) + 48;
}

static __u64 parent_of(struct image *x, __u64 greenlet)
{
	static const __u32 at[] = { 56, END_2 + 24, END_3 + 16 };

	return impl_of(x, greenlet) + at[x->layout];
}

static __u64 put_greenlet(struct image *x, __u64 type, __u64 parent, __u64 start, __u64 stop)
{
	struct fake *f = x->f;
	__u64 addr = put_object(x, x->interp + OLD, type, 176), impl;

	if (x->layout != ONE) {
		impl = fake_alloc(f, 208);
		fake_put(f, addr + 32, impl);
		fake_put(f, impl, x->type_type); /* a table of functions */
		fake_put(f, impl + (x->layout == TWO ? END_2 : 8), addr);
	}
	fake_put(f, stack_of(x, addr), start);
	fake_put(f, stack_of(x, addr) + 8, stop);
	if (stop == ~0ULL && x->layout != ONE) {
		__u64 state = fake_alloc(f, 48), end = x->layout == TWO ? END_2 : END_3;

		fake_put(f, state, addr);
		fake_put(f, impl_of(x, addr) + end, addr);
		fake_put(f, impl_of(x, addr) + end + 8, state);
	} else if (stop != ~0ULL) {
		fake_put(f, parent_of(x, addr), parent);
	}
	return addr;
}

/* A frame that the other one was called from, and its object. */
static __u64 put_frame(struct image *x, __u64 caller, int owner)
{
	struct fake *f = x->f;
	__u64 frame = fake_alloc(f, 120), code = fake_code(f), object;

	fake_put(f, frame + f->offsets.frame.previous, caller);
	fake_put_u8(f, frame + f->offsets.frame.owner, (__u8)owner);
	if (owner == FAKE_ENTRY)
		return frame;
	fake_put(f, frame + f->offsets.frame.executable, code);
	fake_put(f, frame + f->offsets.frame.instr_ptr, code + f->offsets.code.code_adaptive + 2);
	object = fake_alloc(f, 64);
	fake_put(f, object + 8, x->frame_type);
	fake_put(f, object + 24, frame);
	fake_put(f, frame + f->offsets.frame.instr_ptr - 8, object);
	x->frame_objects[x->frame_cnt++] = object;
	return frame;
}

static void suspend(struct image *x, __u64 greenlet, __u64 frame)
{
	fake_put(x->f, top_frame_of(x, greenlet),
		 fake_get(x->f, frame + x->f->offsets.frame.instr_ptr - 8));
}

/* Calls by C: an entry frame between, which lies on the thread's stack, where by now another greenlet's is. */
static void suspend_deep(struct image *x)
{
	struct fake *f = x->f;
	__u64 outer = put_frame(x, 0, FAKE_THREAD), entry = put_frame(x, outer, FAKE_ENTRY);
	__u64 copy = fake_alloc(f, 512), there = x->stack + 1024 + 256;

	memcpy(fake_at(f, copy + 256), fake_at(f, entry), 120);
	memset(fake_at(f, there), 0x41, 120);
	fake_put(f, stack_of(x, x->deep) + 16, copy);
	fake_put(f, stack_of(x, x->deep) + 24, 512);
	suspend(x, x->deep, put_frame(x, there, FAKE_THREAD));
}

static void put_greenlets(struct image *x)
{
	struct fake *f = x->f;

	x->main = put_greenlet(x, x->greenlet_type, 0, x->stack + 8000, ~0ULL);
	x->hub = put_greenlet(x, x->hub_type, x->main, x->stack + 7000, x->stack + 7500);
	x->waits = put_greenlet(x, x->greenlet_type, x->hub, x->stack + 4096, x->stack + 6000);
	x->deep = put_greenlet(x, x->greenlet_type, x->hub, x->stack + 1024, x->stack + 5000);
	x->fresh = put_greenlet(x, x->greenlet_type, x->hub, 0, 0);
	put_greenlet(x, x->greenlet_type, x->main, 0, x->stack + 3000); /* it has ended */
	suspend(x, x->main, put_frame(x, put_frame(x, 0, FAKE_THREAD), FAKE_THREAD));
	suspend(x, x->waits, put_frame(x, put_frame(x, 0, FAKE_ENTRY), FAKE_THREAD));
	suspend_deep(x);
	fake_put(f, x->interp + YOUNG, x->interp + YOUNG); /* empty */
	fake_put(f, x->interp + YOUNG + 8, x->interp + YOUNG);
}

static void build(struct image *x, enum layout layout)
{
	static const __u64 sizes[] = { 160, 40, 40 };
	struct fake *f;
	__u64 other;

	if (x->f)
		fake_free(x->f);
	probe_tasks_free(&x->list);
	*x = (struct image){ .layout = layout };
	x->f = f = fake_new(&fake_versions[0], IMAGE_ADDR, IMAGE_SIZE);
	f->offsets.object.ob_type = 8;
	f->offsets.object.tp_name = 24;
	f->offsets.interp.gc_collecting = GC_COLLECTING;
	f->offsets.version = PYTHON_3_12;
	x->interp = fake_interp(f);
	x->type_type = put_type(x, "type", 1, 0);
	other = put_type(x, "dict", 1, x->type_type);
	x->frame_type = put_type(x, "frame", 1, 0);
	x->greenlet_type = put_type(x, "greenlet.greenlet", sizes[layout], 0);
	x->hub_type = put_type(x, "some.where.Hub", 64, x->greenlet_type);
	x->stack = fake_alloc(f, 8192);
	fake_put_u32(f,
		     fake_thread(f, x->interp, fake_alloc(f, 64), FAKE_STATUS_BOUND) +
			     f->offsets.thread.native_thread_id,
		     THREAD_ID);
	fake_put(f, x->interp + OLD, x->interp + OLD);
	fake_put(f, x->interp + OLD + 8, x->interp + OLD);
	put_object(x, x->interp + OLD, other, 32);
	put_greenlets(x);
	put_object(x, x->interp + OLD, other, 32);
}

/* ---- the prober ------------------------------------------------------------------------------- */

static int folder; /* of /proc/PID */

static void write_maps(const char *name)
{
	char path[] = "/tmp/krait-test-greenlets-XXXXXX", file[96];
	FILE *out;

	assert_non_null(mkdtemp(path));
	snprintf(file, sizeof(file), "%s/maps", path);
	out = fopen(file, "w");
	assert_non_null(out);
	fprintf(out, "%llx-%llx rw-p 00000000 08:01 77 %s\n", IMAGE_ADDR, IMAGE_ADDR + IMAGE_SIZE,
		name);
	fclose(out);
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder >= 0);
}

static void remove_maps(void)
{
	char path[64], link[64];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
	len = readlink(link, path, sizeof(path) - 1);
	assert_true(len > 0);
	path[len] = '\0';
	unlinkat(folder, "maps", 0);
	rmdir(path);
	close(folder);
}

static int list(struct image *x, const char *module)
{
	const struct probe_tasks_ask ask = { .offsets = x->f->offsets,
					     .runtime_addr = x->f->runtime_addr };
	int mem = memfd_create("memory", MFD_CLOEXEC), fd, err = 0;

	probe_tasks_free(&x->list);
	assert_true(mem >= 0);
	assert_int_equal(pwrite(mem, x->f->bytes, IMAGE_SIZE, (off_t)IMAGE_ADDR), IMAGE_SIZE);
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

static const struct probe_task *find(const struct image *x, __u64 addr)
{
	for (__u32 i = 0; i < x->list.head.task_cnt; i++)
		if (x->list.tasks[i].addr == addr)
			return &x->list.tasks[i];
	return NULL;
}

static void assert_greenlet(struct image *x, __u64 addr, const char *name, __u64 parent,
			    __u32 frames, __u32 flags)
{
	const struct probe_task *t = find(x, addr);

	assert_non_null(t);
	assert_string_equal(x->list.texts + t->name, name);
	assert_int_equal(t->flags, flags | PROBE_TASK_NAMED);
	assert_int_equal(t->frame_cnt, frames);
	assert_int_equal(t->notes, 0);
	assert_int_equal(t->thread_id, THREAD_ID);
	assert_int_equal(t->waiter_cnt, parent ? 1 : 0);
	if (parent)
		assert_int_equal(x->list.waiters[t->first_waiter], parent);
}

/* ---- what is there ---------------------------------------------------------------------------- */

static void all_layouts(void **state)
{
	struct image *x = *state;

	for (int layout = ONE; layout <= THREE; layout++) {
		build(x, layout);
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
	struct image *x = *state;
	const struct probe_task *t;

	build(x, THREE);
	assert_int_equal(list(x, MODULE), 0);
	t = find(x, x->main);
	assert_non_null(t);
	for (int i = 0; i < 2; i++) {
		__u64 frame = fake_get(x->f, x->frame_objects[i] + 24);

		assert_int_equal(x->list.frames[t->first_frame + i].code_addr,
				 fake_get(x->f, frame + x->f->offsets.frame.executable) & ~7ULL);
	}
}

/* Where another greenlet's stack ends within an entry frame, a part of that is in the copy and the rest in its place. */
static void a_frame_that_is_saved_in_part(void **state)
{
	static const __u32 parts[] = { 8, 40, 72, 119 };
	struct image *x = *state;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		__u64 copy, there;

		build(x, THREE);
		copy = fake_get(x->f, stack_of(x, x->deep) + 16);
		there = x->stack + 1024 + 256;
		memcpy(fake_at(x->f, there + parts[i]), fake_at(x->f, copy + 256 + parts[i]),
		       120 - parts[i]);
		memset(fake_at(x->f, copy + 256 + parts[i]), 0x42, 120 - parts[i]);
		fake_put(x->f, stack_of(x, x->deep) + 24, 256 + parts[i]);
		assert_int_equal(list(x, MODULE), 0);
		assert_greenlet(x, x->deep, "greenlet", x->hub, 2, 0);
	}
}

/* ---- what is refused -------------------------------------------------------------------------- */

static void other_programs(void **state)
{
	struct image *x = *state;

	build(x, THREE);
	assert_int_equal(list(x, "/x/_greenlets.so"), -ENOENT);
	x->f->offsets.flags |= PYOFF_FREE_THREADED;
	assert_int_equal(list(x, MODULE), -EXFULL);
	build(x, THREE);
	fake_put(x->f, x->greenlet_type + 32, 48); /* an object of another size */
	assert_int_equal(list(x, MODULE), -EPROTONOSUPPORT);
	build(x, THREE);
	fake_put(x->f, x->greenlet_type + 24, put_text(x->f, "greenlet.greenlet2"));
	assert_int_equal(list(x, MODULE), -EPROTONOSUPPORT);
}

/* A main greenlet whose thread state is another's, or leads nowhere: nobody knows what is where. */
static void nothing_is_proved(void **state)
{
	struct image *x = *state;

	for (int layout = TWO; layout <= THREE; layout++) {
		__u32 end = layout == TWO ? END_2 : END_3;

		build(x, layout);
		fake_put(x->f, fake_get(x->f, impl_of(x, x->main) + end + 8), x->hub);
		assert_int_equal(list(x, MODULE), -EPROTONOSUPPORT);
		build(x, layout);
		fake_put(x->f, impl_of(x, x->main) + end + 8, 24);
		assert_int_equal(list(x, MODULE), -EPROTONOSUPPORT);
	}
}

static void assert_left_out(struct image *x, __u64 addr, __u32 others)
{
	assert_int_equal(list(x, MODULE), 0);
	assert_null(find(x, addr));
	assert_int_equal(x->list.head.task_cnt, others);
	assert_int_equal(x->list.head.flags, PROBE_TASKS_CHANGED);
}

static void one_is_not_proved(void **state)
{
	struct image *x = *state;

	for (int layout = ONE; layout <= THREE; layout++) {
		if (layout != ONE) {
			/* Its C++ object is another's. */
			build(x, layout);
			fake_put(x->f, x->waits + 32, impl_of(x, x->hub));
			assert_left_out(x, x->waits, 4);
		}
		/* Its parent is no greenlet. */
		build(x, layout);
		fake_put(x->f, parent_of(x, x->waits), x->type_type);
		assert_left_out(x, x->waits, 4);
		/* Its frame is none; the frame is another object's. */
		build(x, layout);
		fake_put(x->f, top_frame_of(x, x->waits), x->type_type);
		assert_left_out(x, x->waits, 4);
		build(x, layout);
		fake_put(x->f, fake_get(x->f, top_frame_of(x, x->waits)) + 24,
			 fake_get(x->f, x->frame_objects[0] + 24));
		assert_left_out(x, x->waits, 4);
		/* Its stack ends before it begins; more is saved than it has. */
		build(x, layout);
		fake_put(x->f, stack_of(x, x->waits) + 8, x->stack);
		assert_left_out(x, x->waits, 4);
		build(x, layout);
		fake_put(x->f, stack_of(x, x->deep) + 24, 1 << 20);
		assert_left_out(x, x->deep, 4);
	}
}

/* ---- what does not end ------------------------------------------------------------------------ */

static void circles_end(void **state)
{
	struct image *x = *state;
	__u64 frame;

	build(x, THREE);
	fake_put(x->f, parent_of(x, x->hub), x->waits);
	assert_int_equal(list(x, MODULE), 0);
	assert_int_equal(x->list.head.task_cnt, 5);
	build(x, THREE);
	frame = fake_get(x->f, fake_get(x->f, top_frame_of(x, x->waits)) + 24);
	fake_put(x->f, frame + x->f->offsets.frame.previous, frame);
	assert_int_equal(list(x, MODULE), 0);
	assert_int_equal(find(x, x->waits)->notes & TASK_FRAMES, TASK_FRAMES);
}

/* A link that leads elsewhere: what can be reached from both ends is there, and that it need not be all is said. */
static void lists_that_change(void **state)
{
	struct image *x = *state;

	build(x, THREE);
	fake_put(x->f, x->waits - 16, x->main - 16);
	assert_int_equal(list(x, MODULE), 0);
	assert_int_equal(x->list.head.flags, PROBE_TASKS_CHANGED);
	assert_int_equal(x->list.head.task_cnt, 5);
	build(x, THREE);
	fake_put_u32(x->f, x->interp + GC_COLLECTING, 1);
	assert_int_equal(list(x, MODULE), 0);
	assert_int_equal(x->list.head.flags, PROBE_TASKS_CHANGED);
}

static void damage_ends(void **state)
{
	struct image *x = *state;
	struct rng rng = rng_from_environment();
	unsigned lists = 0;

	for (int round = 0; round < 600; round++) {
		__u64 begin;
		int err;

		build(x, round % 3);
		fake_mutate(x->f, &rng, 1 + rng_below(&rng, round % 2 ? 8 : 200));
		begin = clock_monotonic_ns();
		err = list(x, MODULE);
		assert_true(clock_monotonic_ns() - begin < 10 * NS_PER_SEC);
		assert_true(!err || err == -EPROTONOSUPPORT || err == -EFAULT);
		lists += !err && x->list.head.task_cnt;
	}
	/* Else it was for nothing. */
	assert_true(lists > 100);
}

static int begin(void **state)
{
	*state = calloc(1, sizeof(struct image));
	return *state ? 0 : -1;
}

static int end(void **state)
{
	struct image *x = *state;

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
		cmocka_unit_test(other_programs),
		cmocka_unit_test(nothing_is_proved),
		cmocka_unit_test(one_is_not_proved),
		cmocka_unit_test(circles_end),
		cmocka_unit_test(lists_that_change),
		cmocka_unit_test(damage_ends),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
