// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that says it is CPython and is not. What it publishes in .PyRuntime is laid out as
 * 3.15 does, and the first argument chooses what is wrong with the structures behind it.
 *
 * Built by tests/e2e/test_hostile.py, once for each table that must be refused:
 *   -DVERSION=0x031000f0       another version
 *   -DPATCH='[42]=7'           another word in the table
 *   -DWORDS=3                  a section that ends early
 *   -DTEXT='"3.11.9"'          no table at all
 *
 * It prints READY, then burns CPU time until it is killed.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef VERSION
#define VERSION 0x030f02f0
#endif
#ifndef WORDS
#define WORDS 512
#endif
#ifndef PATCH
#define PATCH [110] = 512
#endif

/* Positions in the table of 3.15, see user/python/layout/py_debug_offsets.c. */
#define AT(pos) [(pos) / 8]

#define HEAD 936
#define INTERP_NEXT 8
#define INTERP_THREADS 16
#define INTERP_GENERATION 24
#define INTERP_GIL 32
#define FRAMES 6000
#define THREADS 10000

#ifdef TEXT
__attribute__((section(".PyRuntime"))) char _PyRuntime[4096] = TEXT;
#else
/* The words after the table are the runtime itself; only interpreters_head is used. */
#pragma GCC diagnostic ignored "-Woverride-init"
__attribute__((section(".PyRuntime"))) uint64_t _PyRuntime[WORDS] = {
	AT(0) = 0x7970677562656478, /* xdebugpy */
	AT(8) = VERSION,
#if WORDS > 110
	AT(24) = 4096, /* runtime_state */
	AT(32) = 912,
	AT(40) = HEAD,
	AT(48) = 64, /* interpreter_state */
	AT(56) = 0,
	AT(64) = INTERP_NEXT,
	AT(72) = INTERP_THREADS,
	AT(120) = INTERP_GIL,
	AT(160) = INTERP_GENERATION,
	AT(176) = 888, /* thread_state */
	AT(184) = 0,
	AT(192) = 8,
	AT(200) = 16,
	AT(208) = 72,
	AT(216) = 80,
	AT(224) = 88,
	AT(232) = 96,
	AT(240) = 176,
	AT(248) = 184,
	AT(264) = 32,
	AT(312) = 88, /* interpreter_frame */
	AT(320) = 8,
	AT(328) = 0,
	AT(336) = 56,
	AT(344) = 80,
	AT(352) = 74,
	AT(360) = 64,
	AT(376) = 216, /* code_object */
	AT(384) = 112,
	AT(392) = 120,
	AT(400) = 128,
	AT(408) = 136,
	AT(416) = 68,
	AT(448) = 208,
	AT(464) = 16, /* pyobject */
	AT(472) = 8,
	AT(480) = 424, /* type_object */
	AT(488) = 24,
	AT(688) = 40, /* bytes_object */
	AT(696) = 16,
	AT(704) = 32,
	AT(712) = 64, /* unicode_object */
	AT(720) = 32,
	AT(728) = 16,
	AT(736) = 40,
	AT(744) = 56,
	PATCH,
#endif
};
#endif

struct thread {
	uint64_t prev, next, interp, pad0;
	uint32_t status, pad1;
	uint64_t pad2[4];
	uint64_t current_frame, base_frame, last_profiled_frame, seq;
	uint64_t pad3[9];
	uint64_t thread_id, native_thread_id;
	uint64_t pad4[87];
	uint64_t pad5;
};

struct frame {
	uint64_t executable, previous, pad0[5], instr_ptr, stackpointer;
	uint16_t return_offset;
	uint8_t owner, visited;
	uint32_t pad1;
	uint64_t localsplus;
};

struct string {
	uint64_t refcnt, type, length, hash;
	uint32_t state, pad;
	char text[64]; /* at asciiobject_size */
};

struct bytes {
	uint64_t refcnt, type, size, hash;
	unsigned char data[32];
};

struct code {
	uint64_t refcnt, type, pad0[6];
	uint32_t pad1, first_line;
	uint64_t pad2[5];
	uint64_t filename, name, qualname, linetable;
	uint64_t pad3[8];
	uint16_t instructions[64];
};

_Static_assert(offsetof(struct string, text) == 40, "as in CPython");
_Static_assert(sizeof(struct frame) == 88, "as in CPython");
_Static_assert(offsetof(struct thread, thread_id) == 176, "as in CPython");
_Static_assert(offsetof(struct code, first_line) == 68, "as in CPython");
_Static_assert(offsetof(struct code, filename) == 112, "as in CPython");
_Static_assert(offsetof(struct code, instructions) == 208, "as in CPython");

static uint64_t interp[8];
static struct thread threads[THREADS];
static struct frame frames[FRAMES], entry, base;
static struct code codes[2];
static struct string strings[3];
static struct bytes lines;
static uint64_t code_type[64];

#define WILD 0x00005deadbeef000ULL
#define KERNEL 0xffff888000000000ULL

static uint64_t addr(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static void make_string(struct string *s, const char *text)
{
	s->refcnt = 1;
	s->length = strlen(text);
	s->state = 1 << 2 | 1 << 5 | 1 << 6; /* kind 1, compact, ascii */
	strcpy(s->text, text);
}

static void make_code(struct code *c, struct string *name)
{
	c->refcnt = 1;
	c->type = addr(code_type);
	c->first_line = 10;
	c->filename = addr(&strings[2]);
	c->name = c->qualname = addr(name);
	c->linetable = addr(&lines);
}

static void link_frame(struct frame *f, const struct code *code, const struct frame *previous)
{
	f->executable = addr(code);
	f->previous = addr(previous);
	f->instr_ptr = addr(code->instructions);
}

/* Thread 0 is the main thread; its stack is fake_root, which called fake_leaf. */
static void make_sound(void)
{
	code_type[3] = addr("code");
	make_string(&strings[0], "fake_root");
	make_string(&strings[1], "fake_leaf");
	make_string(&strings[2], "/fake.py");
	lines.refcnt = 1;
	lines.size = 2;
	memcpy(lines.data, "\xe8\x03", 2); /* one unit, kind 13, line delta -1 */
	make_code(&codes[0], &strings[0]);
	make_code(&codes[1], &strings[1]);
	base.owner = entry.owner = 3;
	entry.previous = addr(&base);
	link_frame(&frames[1], &codes[0], &entry);
	link_frame(&frames[0], &codes[1], &frames[1]);
	threads[0].interp = addr(interp);
	threads[0].status = 1 << 3;
	threads[0].current_frame = addr(&frames[0]);
	threads[0].base_frame = addr(&base);
	threads[0].thread_id = pthread_self();
	interp[INTERP_THREADS / 8] = addr(&threads[0]);
}

static void many_threads(void)
{
	for (int i = 0; i < THREADS; i++) {
		threads[i].interp = addr(interp);
		threads[i].thread_id = 1;
		threads[i].prev = i ? addr(&threads[i - 1]) : 0;
		threads[i].next = i + 1 < THREADS ? addr(&threads[i + 1]) : 0;
	}
}

static void many_frames(void)
{
	for (int i = 0; i < FRAMES; i++)
		link_frame(&frames[i], &codes[i ? 0 : 1], i + 1 < FRAMES ? &frames[i + 1] : &entry);
}

/* Rewrites pointers while they are read. */
static void *scribble(void *arg)
{
	// clang-format off
	uint64_t *targets[] = { &interp[INTERP_THREADS / 8], &interp[INTERP_NEXT / 8],
				&interp[INTERP_GENERATION / 8], &threads[0].next,
				&threads[0].current_frame, &threads[0].interp, &frames[0].previous,
				&frames[0].executable, &frames[1].previous, &frames[1].executable,
				&frames[0].instr_ptr, &codes[0].qualname, &codes[1].linetable,
				&codes[1].type, &strings[0].length, &strings[1].length,
				&lines.size, &entry.previous };
	uint64_t values[] = { 0, 1, WILD, KERNEL, ~0ULL, addr(&threads[0]), addr(&frames[0]),
			      addr(&frames[1]), addr(&entry), addr(&base), addr(&codes[0]),
			      addr(&codes[1]), addr(&strings[0]), addr(&lines), addr(interp),
			      addr(code_type) };
	// clang-format on
	unsigned seed = 1;

	(void)arg;
	for (;;) {
		uint64_t *at = targets[rand_r(&seed) % (sizeof(targets) / sizeof(*targets))];
		uint64_t old = *at;

		*(volatile uint64_t *)at =
			values[rand_r(&seed) % (sizeof(values) / sizeof(*values))];
		if (rand_r(&seed) % 4)
			*(volatile uint64_t *)at = old;
		else if (rand_r(&seed) % 8 == 0)
			make_sound();
	}
	return NULL;
}

/* Corrupts words; a name may occur several times. */
static int poke(const char *what)
{
	uint64_t threads_at = addr(&interp[INTERP_THREADS / 8]);
	uint64_t *owner_word = (uint64_t *)&frames[1].return_offset; /* owner is its third byte */
	uint64_t *first_string = (uint64_t *)&strings[0].state;
	uint64_t *second_string = (uint64_t *)&strings[1].state;
	const struct {
		const char *what;
		uint64_t *at, value;
	} pokes[] = {
		{ "sound", NULL, 0 },
		{ "zero-runtime", NULL, 0 },
		{ "zero-interp", (uint64_t *)threads_at, 0 },
		{ "wild-interp", &interp[INTERP_NEXT / 8], WILD },
		{ "wild-interp", &threads[0].thread_id, 1 },
		{ "interp-cycle", &interp[INTERP_NEXT / 8], addr(interp) },
		{ "interp-cycle", &threads[0].thread_id, 1 },
		{ "wild-thread", (uint64_t *)threads_at, WILD },
		{ "kernel-thread", (uint64_t *)threads_at, KERNEL },
		{ "misaligned-thread", (uint64_t *)threads_at, addr(&threads[0]) | 1 },
		{ "thread-cycle", &threads[0].next, addr(&threads[0]) },
		{ "thread-cycle", &threads[0].thread_id, 1 },
		{ "wild-current", &threads[0].current_frame, WILD },
		{ "wild-frame", &frames[1].previous, WILD },
		{ "kernel-frame", &frames[1].previous, KERNEL },
		{ "frame-cycle", &frames[1].previous, addr(&frames[0]) },
		{ "frame-itself", &frames[0].previous, addr(&frames[0]) },
		{ "misaligned-frame", &frames[0].previous, addr(&frames[1]) | 4 },
		{ "bad-owner", owner_word, 2 << 16 },
		{ "wild-owner", owner_word, 255 << 16 },
		{ "no-base", &frames[1].previous, 0 },
		{ "greenlet", &entry.previous, 0 },
		{ "wild-code", &frames[1].executable, WILD },
		{ "kernel-code", &frames[1].executable, KERNEL },
		{ "text-as-code", &frames[1].executable, addr((void *)make_sound) & ~7ULL },
		{ "other-type", &codes[0].type, addr(&strings[0]) },
		{ "other-type", &codes[1].type, addr(&strings[0]) },
		{ "huge-name", &strings[0].length, 1ULL << 40 },
		{ "huge-name", &strings[1].length, ~0ULL },
		{ "odd-name", first_string, 7 << 2 | 1 << 5 },
		{ "odd-name", second_string, 1 << 2 },
		{ "wild-name", &codes[0].qualname, WILD },
		{ "wild-name", &codes[1].qualname, 3 },
		{ "huge-lines", &lines.size, 1ULL << 50 },
		{ "wild-instruction", &frames[0].instr_ptr, WILD },
		{ "wild-instruction", &frames[1].instr_ptr, KERNEL },
	};
	int found = 0;

	for (size_t i = 0; i < sizeof(pokes) / sizeof(*pokes); i++) {
		if (strcmp(pokes[i].what, what))
			continue;
		if (pokes[i].at)
			*pokes[i].at = pokes[i].value;
		found = 1;
	}
	return found;
}

static int break_it(const char *what)
{
	pthread_t thread;

	if (!strcmp(what, "zero-thread"))
		memset(&threads[0], 0, sizeof(threads[0]));
	else if (!strcmp(what, "many-threads"))
		many_threads();
	else if (!strcmp(what, "many-frames"))
		many_frames();
	else if (!strcmp(what, "odd-lines"))
		memset(lines.data, 0xff, lines.size = sizeof(lines.data));
	else if (!strcmp(what, "scribble"))
		return pthread_create(&thread, NULL, scribble, NULL);
	else
		return !poke(what);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: fake_runtime WHAT (see break_it())\n");
		return 2;
	}
	make_sound();
	if (break_it(argv[1]))
		return 2;
#if !defined(TEXT) && WORDS > 117
	_PyRuntime[HEAD / 8] = !strcmp(argv[1], "zero-runtime") ? 0 : addr(interp);
#endif
	puts("READY");
	fflush(stdout);
	for (volatile unsigned long i = 0;; i++)
		;
}
