/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_still.c - native frames of a child that stood still, from copies of its registers and stack:
 * after it has resumed; with a stack larger than the copy; and none if it has mapped other files
 * meanwhile.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/data/bytes.h"
#include "profile/dict.h"
#include "record/samples/stack_nodes.h"
#include "record/samples/still.h"
#include "support_process.h"
#include "support_roles.h"
#include "process/memory/frozen.h"
#include "process/proc/proc.h"
#include "process/memory/remote.h"
#include "process/probe/probe_threads.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"

/* A library that this program does not use; it is small and comes with every C library. */
#define LATE "libBrokenLocale.so.1"
#define DEEP 100

/* What is copied while the child stands still. */
struct kept {
	struct probe_thread t;
	__u32 len;
	char stack[PROBE_THREADS_STACK_MAX];
};

static int pipes[2][2]; /* to the child and from it */

int innermost(void);
int recursive(int depth);

int __attribute__((noinline)) innermost(void)
{
	char c = 0;

	if (write(pipes[1][1], "w", 1) != 1 || read(pipes[0][0], &c, 1) != 1)
		_exit(1);
	return c;
}

/* Each takes some thousands of bytes of the stack. */
int __attribute__((noinline)) recursive(int depth)
{
	volatile char room[4000];

	room[0] = (char)depth;
	return (depth ? recursive(depth - 1) : innermost()) + room[0];
}

static pid_t start(int depth)
{
	pid_t child;

	assert_int_equal(pipe(pipes[0]), 0);
	assert_int_equal(pipe(pipes[1]), 0);
	child = fork();
	if (!child) {
		recursive(depth);
		if (!dlopen(LATE, RTLD_NOW))
			_exit(1);
		recursive(depth);
		_exit(0);
	}
	return child;
}

static void await_child(void)
{
	char c;

	assert_int_equal(read(pipes[1][0], &c, 1), 1);
}

static void go_on(void)
{
	assert_int_equal(write(pipes[0][1], "g", 1), 1);
}

static void stop_process(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	for (int i = 0; i < 4; i++)
		close(pipes[i / 2][i % 2]);
}

static int keep(const void *ctx, const struct frozen *f, void *shared)
{
	cleanup_remote struct remote *remote = process_memory(f->threads[0].tid);
	cleanup_bytes struct bytes copies = { 0 };
	struct kept *k = shared;

	(void)ctx;
	if (!remote)
		return -errno;
	k->t = (struct probe_thread){ .tid = f->threads[0].tid };
	probe_threads_copy(&copies, remote__fd(remote), &f->threads[0], &k->t);
	k->len = (__u32)copies.len;
	if (copies.len)
		memcpy(k->stack, copies.data, copies.len);
	return 0;
}

static void freeze(pid_t child, struct kept *k)
{
	cleanup_close int dir = proc_open(child);
	const struct frozen_call call = { .dir = dir,
					  .fn = keep,
					  .shared = k,
					  .size = sizeof(*k),
					  .limit_ns = 5 * NS_PER_SEC,
					  .registers = true };
	__u64 pause_ns;

	assert_int_equal(frozen_run(&call, &pause_ns), 0);
	assert_true(k->t.flags & PROBE_THREAD_REGS && k->t.flags & PROBE_THREAD_BEHIND_CALL);
	assert_int_equal(k->t.stack_len, k->len);
}

static int read_kept(void *ctx, __u64 addr, void *buf, size_t len)
{
	const struct kept *k = ctx;

	if (addr < k->t.stack_addr || addr - k->t.stack_addr > k->len ||
	    len > k->len - (addr - k->t.stack_addr))
		return -EFAULT;
	memcpy(buf, k->stack + (addr - k->t.stack_addr), len);
	return 0;
}

static int read_nothing(void *ctx, __u64 addr, void *buf, size_t len)
{
	return -EFAULT;
}

/* Its Python code cannot be read. */
static const struct memory nothing = { .read = read_nothing };

/* Returns the names, root first, as "main;recursive;recursive;". */
static char *names(struct still_process *p, struct kept *k)
{
	const struct memory memory = { .read = read_kept, .ctx = k };
	/* A frame beyond the native ones: if these end early, a mark comes between. */
	const struct frame python = { .code_addr = 1 };
	const struct still_thread t = { .regs = k->t.regs,
					.behind_call = true,
					.memory = &memory,
					.frames = &python,
					.frame_cnt = 1 };
	const struct stack_nodes *list;
	const struct dict *dict = still__dict(p);
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	list = still__list(p, &t);
	assert_non_null(list);
	for (__u32 i = 0; i < list->items.cnt; i++) {
		__u32 frame = stack_nodes_frame(list, i);

		if (frame)
			fprintf(out, "%s;", dict__text(dict, dict__frame_at(dict, frame)->name));
	}
	fclose(out);
	return text;
}

static unsigned count(const char *text, const char *what)
{
	unsigned cnt = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		cnt++;
	}
	return cnt;
}

/* A child, and what is read of it while it runs. */
struct scene {
	struct still *still;
	struct still_process *p;
	struct kept *kept;
	pid_t child;
};

/* Waits until the child has called itself that many times and waits. */
static void scene_begin(struct scene *s, int depth)
{
	struct py_process info = { .runtime_addr = 1 }; /* its executable contains no interpreter */

	s->still = still__new(true);
	s->kept = calloc(1, sizeof(*s->kept));
	assert_true(s->still && s->kept);
	s->child = start(depth);
	await_child();
	info.pid = s->child;
	s->p = still__open(s->still, &info, NULL);
	assert_non_null(s->p);
	assert_int_equal(still__begin(s->p, &nothing), 0);
}

static void scene_end(struct scene *s)
{
	still__close(s->p);
	still__free(s->still);
	free(s->kept);
	stop_process(s->child);
}

static void it_is_read_when_the_child_has_gone_on(void **state)
{
	cleanup_free char *text = NULL;
	struct scene s;

	scene_begin(&s, DEEP);
	freeze(s.child, s.kept);
	assert_true(still__check(s.p));
	go_on();
	await_child();
	/* Its stack has changed by now, but not the copy. */
	text = names(s.p, s.kept);
	assert_int_equal(count(text, "recursive;"), DEEP + 1);
	assert_int_equal(count(text, "innermost;"), 1);
	/* From the very root. */
	assert_int_equal(count(text, "main;"), 1);
	assert_true(strstr(text, "innermost;") > strstr(text, "recursive;"));
	scene_end(&s);
}

static void of_other_mappings_nothing_is_said(void **state)
{
	cleanup_free char *text = NULL;
	struct scene s;

	scene_begin(&s, 1);
	go_on();
	/* It has loaded one more library. */
	await_child();
	freeze(s.child, s.kept);
	assert_false(still__check(s.p));
	text = names(s.p, s.kept);
	assert_int_equal(count(text, "recursive;"), 0);
	assert_true(count(text, "[") > 0);
	scene_end(&s);
}

static void a_stack_is_copied_up_to_its_bound(void **state)
{
	cleanup_free char *text = NULL;
	struct scene s;

	/* 1.2 MB. */
	scene_begin(&s, 300);
	freeze(s.child, s.kept);
	assert_int_equal(s.kept->len, PROBE_THREADS_STACK_MAX);
	text = names(s.p, s.kept);
	assert_true(count(text, "recursive;") > 200 && count(text, "recursive;") < 301);
	assert_int_equal(count(text, "innermost;"), 1);
	assert_int_equal(count(text, "main;"), 0);
	scene_end(&s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_read_when_the_child_has_gone_on),
		cmocka_unit_test(of_other_mappings_nothing_is_said),
		cmocka_unit_test(a_stack_is_copied_up_to_its_bound),
	};

	become_worker(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
