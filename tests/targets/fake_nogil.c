// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program laid out as free-threaded CPython 3.14 (-DMINOR=14) or 3.15 (-DMINOR=15): the offsets that
 * it publishes are those of Debian's headers, tests/unit/py_debug_tables_nogil.h, and all that lies at them is
 * as such builds have it: object headers of 32 bytes, f_executable tagged as deferred, interned a byte,
 * and a copy of the bytecode for each thread.
 *
 * Three threads run at once, "first", "second" and "third": all are in root (line 20), which called
 * work, each in its own copy of work, at the line 10, 11 or 12. root is there -DDEPTH=N times (1). With
 * the argument "no-copy" the array of copies is not there, with "one-copy" all threads use the first.
 * It prints READY, then burns CPU time until it is killed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/py_debug_tables_nogil.h"

/* Words of the table that hold published values. */
#define RUNTIME_HEAD table[40 / 8]
#define INTERP_THREADS table[72 / 8]
#define THREAD(i) table[184 / 8 + (i)] /* prev, next, interp, current_frame */
#if MINOR == 14
#define table py_debug_table_3_14_10t
#define THREAD_ID table[216 / 8]
#define STATUS table[240 / 8]
#define FRAME(i)                                                                                   \
	table[256 / 8 + (i)] /* previous, executable, instr_ptr, localsplus, owner, sp, tlbc */
#define CODE(i) table[320 / 8 + (i)] /* filename, name, qualname, linetable, firstlineno ... */
#define OB_TYPE table[408 / 8]
#define TP_NAME table[424 / 8]
#define BYTES_SIZE table[600 / 8]
#define BYTES_VALUE table[608 / 8]
#define UNICODE(i) table[624 / 8 + (i)] /* state, length, ascii_size */
#else
#define table py_debug_table_3_15_2t
#define BASE_FRAME table[216 / 8]
#define THREAD_ID table[240 / 8]
#define STATUS table[264 / 8]
#define FRAME(i) table[320 / 8 + (i)]
#define CODE(i) table[384 / 8 + (i)]
#define OB_TYPE table[472 / 8]
#define TP_NAME table[488 / 8]
#define BYTES_SIZE table[696 / 8]
#define BYTES_VALUE table[704 / 8]
#define UNICODE(i) table[720 / 8 + (i)]
#endif
#define CODE_ADAPTIVE CODE(8)
#define CODE_TLBC CODE(9)

#ifndef DEPTH
#define DEPTH 1
#endif
#define THREADS 3
#define UNITS 8

#ifdef MARK
/* In the file's data: tests/e2e/test_nogil.py puts the table here, as linkers do for a real one. */
uint64_t _PyRuntime[1024] = { MARK };
#else
/* Not in the file's data, so krait reads the table from memory. */
uint64_t _PyRuntime[1024];
#endif

static char interp[32768], threads[THREADS][1024], entries[THREADS][128];
static char frames[THREADS][DEPTH + 1][128], codes[2][512], strings[3][128], lines[2][128],
	code_type[512];
static uint16_t copies[2][THREADS][UNITS];
#ifdef BASE_FRAME
static char bases[THREADS][128];
#endif
static uint64_t arrays[2][1 + THREADS];

static void put(char *at, uint64_t offset, uint64_t value)
{
	memcpy(at + offset, &value, sizeof(value));
}

static uint64_t addr(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* Owned by its own thread. */
static char *object(char *at)
{
	at[12] = 1;
	return at;
}

static uint64_t string(int i, const char *text)
{
	char *s = object(strings[i]);

	put(s, UNICODE(1), strlen(text));
	put(s, UNICODE(0), 1 | 1 << 8 | 1 << 11 | 1 << 12); /* interned, kind 1, compact, ascii */
	strcpy(s + UNICODE(2), text);
	return addr(s);
}

static void code(int i, const char *name, int first_line, const char *line_table, size_t len)
{
	char *c = object(codes[i]), *l = object(lines[i]);

	put(l, BYTES_SIZE, len);
	memcpy(l + BYTES_VALUE, line_table, len);
	put(c, OB_TYPE, addr(code_type));
	put(c, CODE(0), addr(strings[2]));
	put(c, CODE(2), string(i, name));
	put(c, CODE(3), addr(l));
	memcpy(c + CODE(4), &first_line, sizeof(first_line));
	arrays[i][0] = THREADS;
	arrays[i][1] = addr(c + CODE_ADAPTIVE);
	for (int t = 1; t < THREADS; t++)
		arrays[i][1 + t] = addr(copies[i][t]);
	put(c, CODE_TLBC, addr(arrays[i]));
}

static char *frame(int thread, int i, const char *previous, int copy)
{
	int function = i == DEPTH; /* the last one is in work */
	unsigned unit = function ? (unsigned)thread : 0;
	char *f = frames[thread][i];
	int32_t index = copy;

	put(f, FRAME(0), addr(previous));
	put(f, FRAME(1), addr(codes[function]) | 1); /* deferred */
	put(f, FRAME(2), arrays[function][1 + copy] + 2 * unit);
	memcpy(f + FRAME(6), &index, sizeof(index));
	return f;
}

/* The thread's state is linked before it runs; here it gets its identity. */
static void *burn(void *arg)
{
	put(arg, THREAD_ID, pthread_self());
	asm volatile("" ::: "memory"); /* nothing in here reads it */
	for (volatile unsigned long i = 0;; i++)
		;
	return NULL;
}

static void make_thread(int t, int copy)
{
	char *s = threads[t], *top = entries[t];
	uint32_t status = 1 << 3; /* bound_gilstate */

	if (t)
		put(s, THREAD(0), addr(threads[t - 1]));
	if (t + 1 < THREADS)
		put(s, THREAD(1), addr(threads[t + 1]));
	put(s, THREAD(2), addr(interp));
	put(s, THREAD(3), addr(frames[t][DEPTH]));
	memcpy(s + STATUS, &status, sizeof(status));
	entries[t][FRAME(4)] = 3;
#ifdef BASE_FRAME
	bases[t][FRAME(4)] = 3;
	put(entries[t], FRAME(0), addr(bases[t]));
	put(s, BASE_FRAME, addr(bases[t]));
#endif
	for (int i = 0; i <= DEPTH; i++)
		top = frame(t, i, top, copy);
}

int main(int argc, char **argv)
{
	static const char *const names[THREADS] = { "first", "second", "third" };
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t thread;

	memset(interp, 0, sizeof(interp)); /* BPF cannot read memory that was never written */
	memcpy(_PyRuntime, table, sizeof(table));
	put((char *)_PyRuntime, RUNTIME_HEAD, addr(interp));
	put(interp, INTERP_THREADS, addr(threads[0]));
	put(code_type, TP_NAME, addr("code"));
	string(2, "/fake.py");
	/* A unit each, kind 13 (no columns): the first line, then one more each. */
	code(0, "root", 20, "\xe8\x00", 2);
	code(1, "work", 10, "\xe8\x00\xe8\x02\xe8\x02", 6);
	for (int t = 0; t < THREADS; t++)
		make_thread(t, strcmp(what, "one-copy") ? t : 0);
	if (!strcmp(what, "no-copy"))
		arrays[1][0] = 1;
	for (int t = 0; t < THREADS; t++) {
		if (pthread_create(&thread, NULL, burn, threads[t]))
			return 1;
		pthread_setname_np(thread, names[t]);
	}
	puts("READY");
	fflush(stdout);
	pthread_join(thread, NULL);
	return 0;
}
