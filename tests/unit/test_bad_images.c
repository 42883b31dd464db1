/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_bad_images.c - the memory of real processes with corrupted bytes, words and pointers, read
 * as by krait dump --locals: thread states, frames, thread names, variables. Whatever the memory
 * contains, the result stays within bounds. IMAGES of them, or KRAIT_IMAGES=N; each has its own
 * seed, printed on failure.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "python/values/object_text.h"
#include "support_sanitized.h"
#include "support_process.h"
#include "support_roles.h"
#include "process/memory/remote.h"
#include "process/probe/thread_stacks.h"

#define IMAGES 1000
#define PAGE 4096

/* Each kind of value that is shown, and structures that refer to each other. */
#define CODE                                                                                           \
	"import os, time, collections, threading\n"                                                    \
	"class Plain:\n"                                                                               \
	"    def __init__(self): self.a = 1; self.b = [self]\n"                                        \
	"class Slots:\n"                                                                               \
	"    __slots__ = ('x', 'y')\n"                                                                 \
	"    def __init__(self): self.x = 1; self.y = 'two'\n"                                         \
	"def wait(number, *args, **kw):\n"                                                             \
	"    text = 'ascii'; wide = '\\u20ac' * 9; high = '\\U0001f600'; data = b'\\0\\xff'\n"         \
	"    big = 7 ** 300; negative = -3; real = 1.5; z = 1 + 2j; yes, no = True, None\n"            \
	"    l = [1, [2, (3,)]]; l.append(l); d = {'k': {1: l}}; s = {1, 'x'}; f = frozenset(s)\n"     \
	"    p = Plain(); q = Slots(); n = collections.OrderedDict(a=p); e = ValueError(1, 'x')\n"     \
	"    dq = collections.deque([1, d]); r = range(9); ba = bytearray(b'xyz'); t = (p, q, wait)\n" \
	"    def inner(): return number, t\n"                                                          \
	"    g = (i for i in l)\n"                                                                     \
	"    os.write(1, b'.')\n"                                                                      \
	"    time.sleep(600)\n"                                                                        \
	"    return inner\n"                                                                           \
	"threading.Thread(target=time.sleep, args=(600,), daemon=True, name='N' * 300).start()\n"      \
	"wait(42, 'a', key=[])\n"

/* What is corrupted depends on the seed and the address, so a page stays the same. */
struct bad {
	const struct memory *real;
	__u64 seed;
	__u64 seen; /* a word seen earlier: lets pointers go astray to valid places */
};

static __u64 mix(__u64 x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static void spoil(struct bad *b, __u8 *at, size_t len, __u64 dice)
{
	size_t offset = (dice >> 8) % len & ~(size_t)7;
	__u64 word;

	if (offset + 8 > len)
		return;
	memcpy(&word, at + offset, sizeof(word));
	switch (dice % 6) {
	case 0:
		word ^= 1ULL << (dice >> 58);
		break;
	case 1:
		word = b->seen;
		break;
	case 2:
		word = ~0ULL >> (dice >> 59);
		break;
	case 3:
		word += (dice >> 40 & 0xff) * 8;
		break;
	case 4:
		word = dice >> 32;
		break;
	default:
		word = 0;
	}
	if (word > PAGE && !(word & 7))
		b->seen = word;
	memcpy(at + offset, &word, sizeof(word));
}

static int read_bad(void *ctx, __u64 addr, void *buf, size_t len)
{
	struct bad *b = ctx;
	int err = memory_read(b->real, addr, buf, len);

	/* Corrupts one word in some hundreds. */
	for (size_t i = 0; !err && len >= 8 && i < len / 512 + 1; i++) {
		__u64 dice = mix(b->seed ^ mix(addr + i * 512));

		if (dice % 4 == 0)
			spoil(b, buf, len, mix(dice));
	}
	return err;
}

static void check_image(const struct thread_stacks *s)
{
	assert_true(s->head.thread_cnt <= PROBE_THREADS_MAX);
	assert_true(s->head.frame_cnt <= PROBE_THREADS_FRAMES_MAX);
	assert_true(s->head.local_cnt <= PROBE_THREADS_LOCALS_MAX);
	assert_true(s->head.text_len <= PROBE_THREADS_TEXT_MAX);
	assert_true(!s->head.text_len || !s->texts[s->head.text_len - 1]);
	for (__u32 i = 0; i < s->head.local_cnt; i++) {
		assert_true(s->locals[i].name < s->head.text_len);
		assert_true(s->locals[i].value < s->head.text_len);
		assert_true(strlen(s->texts + s->locals[i].value) <= OBJECT_TEXT_MAX + 8);
	}
}

/* Returns how many variables it had. */
static __u32 read_image(const struct probe_threads_ask *ask, struct bad *b)
{
	const struct memory memory = { .read = read_bad, .ctx = b };
	struct thread_stacks *s = thread_stacks__new(ask, &memory);
	__u32 cnt;

	assert_non_null(s);
	thread_stacks__begin(s);
	for (__u32 i = 0; i < s->state_cnt && i < 8; i++) {
		struct probe_thread *t = &s->threads[s->head.thread_cnt];

		*t = (struct probe_thread){ .ns_tid = (pid_t)s->states[i].native_id };
		if (!thread_stacks__state_of(s, t))
			continue;
		thread_stacks__walk(s, t, &s->states[i]);
		thread_stacks__keep(s, t);
		thread_stacks__walk_moving(s, t, &s->states[i]);
		s->head.thread_cnt++;
	}
	check_image(s);
	cnt = s->head.local_cnt;
	thread_stacks__free(s);
	return cnt;
}

static void check_python(struct fixture *f, const struct python *p, __u64 images)
{
	const struct start start = { p->root, p->path, CODE, NULL, 0 };
	pid_t pid = process_start(&start);
	cleanup_remote struct remote *remote = process_memory(pid);
	struct probe_threads_ask ask = { .locals = true, .moving = true };
	struct bad b = { .seen = 0 };
	__u64 locals = 0, with = 0;

	assert_true(pid > 0 && remote);
	usleep(300000);
	assert_int_equal(process_identify(f, pid), 0);
	ask.offsets = f->process.offsets;
	ask.runtime_addr = f->process.runtime_addr;
	b.real = remote__memory(remote);
	for (__u64 i = 0; i < images; i++) {
		__u32 cnt;

		b.seed = mix(i + 1);
		b.seen = f->process.runtime_addr;
		/* If it crashes, the last number printed is the image's. */
		if (getenv("KRAIT_IMAGES_SAY"))
			fprintf(stderr, "image %llu\n", (unsigned long long)i);
		cnt = read_image(&ask, &b);
		locals += cnt;
		with += cnt > 0;
	}
	print_message("# %s: %llu images, %llu with variables, %llu variables\n", p->path,
		      (unsigned long long)images, (unsigned long long)with,
		      (unsigned long long)locals);
	/* Not so bad that nothing is readable. */
	assert_true(with > images / 20);
	process_stop(pid);
}

static void nothing_crashes_and_all_is_within_bounds(void **state)
{
	const char *asked = getenv("KRAIT_IMAGES");
	__u64 images = asked ? strtoull(asked, NULL, 10) : TIMES(IMAGES);
	struct fixture *f = *state;

	if (!f->cnt)
		skip();
	for (size_t i = 0; i < f->cnt; i++)
		check_python(f, &f->pythons[i], images / f->cnt + 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_crashes_and_all_is_within_bounds),
	};

	become_worker(argv);
	return cmocka_run_group_tests(tests, process_setup, process_teardown);
}
