/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_symbolizer_live.c - names of real code objects in a running interpreter, while it keeps
 * them, while it replaces them between two looks, and while it replaces them during a look.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_process.h"
#include "support_pythons.h"
#include "support_roles.h"
#include "python/code/code_object.h"
#include "python/values/py_string.h"
#include "python/code/symbolizer.h"
#include "process/identify/elf_cache.h"
#include "process/identify/py_process.h"
#include "process/memory/remote.h"
#include "base/data/cleanup.h"

enum { PYTHONS_MAX = 32, REPLACEMENTS = 2000, HISTORY = 4, HEADS = 1000, CHURN_MS = 500 };

struct live {
	const struct python *python;
	struct script script;
	struct py_process process;
	struct elf_cache *cache;
	struct remote *remote;
	const struct memory *memory;
	__u64 interp_addr, code_type_addr;
	struct symbolizer *s;
	char *line;
	size_t line_size;
};

/* What the target says about a code object; strings point into live.line. */
struct told {
	__u64 addr;
	char *name, *file;
	int first_line;
	char *rest; /* unit line end_line column end_column, repeated */
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static char *unhex(char *hex)
{
	char *out = hex, *p = hex;
	unsigned int byte;

	if (!strcmp(hex, "-"))
		return hex + 1;
	for (; sscanf(p, "%2x", &byte) == 1; p += 2)
		*out++ = (char)byte;
	*out = '\0';
	return hex;
}

/* Returns false at "end". */
static bool hear(struct live *l, struct told *ret)
{
	char *save, *field;

	if (getline(&l->line, &l->line_size, l->script.out) <= 0)
		fail_msg("%s: the target ended", l->python->version);
	if (!strcmp(l->line, "end\n"))
		return false;
	field = strtok_r(l->line, " ", &save);
	ret->addr = strtoull(field, NULL, 16);
	ret->name = unhex(strtok_r(NULL, " ", &save));
	ret->file = unhex(strtok_r(NULL, " ", &save));
	ret->first_line = atoi(strtok_r(NULL, " \n", &save));
	ret->rest = save;
	return true;
}

static void say(struct live *l, const char *command)
{
	assert_true(fputs(command, l->script.in) >= 0);
	assert_int_equal(fflush(l->script.in), 0);
}

static __u64 read_u64(struct live *l, __u64 addr)
{
	__u64 value;

	assert_int_equal(memory_read(l->memory, addr, &value, sizeof(value)), 0);
	return value;
}

static bool has_generation(const struct live *l)
{
	return l->process.offsets.interp.code_object_generation != PYOFF_ABSENT;
}

/*
 * What the kernel side would send if it interrupted now. Returns false if there is no such object
 * now.
 */
static bool interrupt(struct live *l, __u64 addr, struct code_query *ret)
{
	struct code_head head;

	*ret = (struct code_query){ .code_addr = addr, .interp_addr = l->interp_addr };
	if (has_generation(l)) {
		ret->code_generation = read_u64(
			l,
			l->interp_addr + (__u64)l->process.offsets.interp.code_object_generation);
		return true;
	}
	if (code_head_read(l->memory, &l->process.offsets, addr, &head))
		return false;
	ret->fingerprint = head.fingerprint;
	return true;
}

static void live_start(struct live *l, const struct python *python)
{
	struct py_process_fds fds;
	int err;

	*l = (struct live){ .python = python };
	assert_int_equal(script_start(&l->script, python, "symbolizer_target.py", NULL), 0);
	assert_int_not_equal(ungetc(getc(l->script.out), l->script.out), EOF);
	l->cache = elf_cache__new();
	assert_non_null(l->cache);
	err = py_process_identify_fds(l->script.pid, l->cache, &l->process, &fds);
	py_process_fds_close(&fds);
	if (err)
		fail_msg("%s: %s", python->version, l->process.why);
	l->remote = process_memory(l->script.pid);
	assert_non_null(l->remote);
	l->memory = remote__memory(l->remote);
	l->interp_addr = read_u64(l, l->process.runtime_addr +
					     (__u64)l->process.offsets.runtime.interpreters_head);
	l->s = symbolizer__new(&l->process.offsets, l->memory);
	assert_non_null(l->s);
}

static void live_end(struct live *l)
{
	symbolizer__free(l->s);
	remote__close(l->remote);
	elf_cache__free(l->cache);
	free(l->line);
}

static unsigned int check_positions(struct live *l, struct code_query q, char *rest)
{
	struct source_position p, want;
	struct code_symbol symbol;
	unsigned int cnt = 0;
	int used;

	for (; sscanf(rest, "%d %d %d %d %d%n", &q.instr_off, &want.line, &want.end_line,
		      &want.column, &want.end_column, &used) == 5;
	     rest += used) {
		q.instr_off *= 2;
		assert_int_equal(symbolizer__resolve(l->s, &q, &symbol, &p), SYMBOL_OK);
		assert_int_equal(p.line, want.line);
		assert_int_equal(p.end_line, want.end_line);
		assert_int_equal(p.column, want.column);
		assert_int_equal(p.end_column, want.end_column);
		cnt++;
	}
	return cnt;
}

static void check_kept(struct live *l)
{
	unsigned int objects = 0, units = 0;
	struct source_position position;
	struct code_head head;
	struct code_symbol symbol;
	struct code_query q;
	struct told told;
	double spent[2] = { 0 }, start;

	while (hear(l, &told)) {
		assert_true(interrupt(l, told.addr, &q));
		start = now_ns();
		assert_int_equal(symbolizer__resolve(l->s, &q, &symbol, &position), SYMBOL_OK);
		spent[!strcmp(told.name, "wide")] += now_ns() - start;
		assert_string_equal(symbol.qualname, told.name);
		assert_string_equal(symbol.filename, told.file);
		assert_int_equal(symbol.first_line, told.first_line);
		units += check_positions(l, q, told.rest);
		objects++;
		assert_int_equal(code_head_read(l->memory, &l->process.offsets, told.addr, &head),
				 0);
		l->code_type_addr = head.type_addr;
	}
	assert_true(objects >= 14);
	start = now_ns();
	for (int i = 0; i < HEADS; i++)
		assert_int_equal(code_head_read(l->memory, &l->process.offsets, q.code_addr, &head),
				 0);
	printf("# %s: %u objects, %u units right; first look %.1f us (%.0f us with 64 KB of lines), "
	       "later look %.2f us\n",
	       l->python->version, objects, units, spent[0] / 1e3 / (objects - 1), spent[1] / 1e3,
	       (now_ns() - start) / 1e3 / HEADS);
}

struct past {
	struct code_query query;
	char name[16];
};

/*
 * An interrupt, then other objects in its place, then the look: the result is never another's name.
 * Every second object was not looked at while it lived.
 */
static void check_replaced(struct live *l)
{
	unsigned int same_addr = 0, named = 0, wrong = 0;
	struct source_position position;
	struct past past[HISTORY] = { 0 };
	struct code_symbol symbol;
	struct told told;

	for (unsigned int i = 0; i < REPLACEMENTS; i++) {
		struct past *p = &past[i % HISTORY];

		say(l, "next\n");
		assert_true(hear(l, &told));
		assert_true(interrupt(l, told.addr, &p->query));
		snprintf(p->name, sizeof(p->name), "%s", told.name);
		for (unsigned int age = i % 2; age < HISTORY; age++) {
			p = &past[(i + HISTORY - age) % HISTORY];
			if (!p->query.code_addr)
				continue;
			same_addr += age && p->query.code_addr == told.addr;
			if (symbolizer__resolve(l->s, &p->query, &symbol, &position) == SYMBOL_OK) {
				named++;
				wrong += strcmp(symbol.qualname, p->name) != 0;
			} else {
				assert_true(age > 0);
			}
		}
	}
	printf("# %s: %d replaced, %u looks at a reused address, %u named, %u wrong, %llu stale\n",
	       l->python->version, REPLACEMENTS, same_addr, named, wrong,
	       (unsigned long long)symbolizer__stats(l->s).stale);
	/* Free-threaded builds leave dead code objects to the collector. */
	assert_true(same_addr > 0 || l->process.offsets.flags & PYOFF_FREE_THREADED);
	assert_int_equal(wrong, 0);
}

/* Stops the target anywhere and finds the running code object, as an interrupt would. */
static bool stop_and_look(struct live *l, struct code_query *ret, char *ret_name, size_t size)
{
	const struct py_offsets *offsets = &l->process.offsets;
	cleanup_free char *name = NULL;
	struct code_head head;
	__u64 tstate_addr, frame_addr;
	int status;

	assert_int_equal(kill(l->script.pid, SIGSTOP), 0);
	assert_int_equal(waitpid(l->script.pid, &status, WUNTRACED), l->script.pid);
	assert_true(WIFSTOPPED(status));
	tstate_addr = read_u64(l, l->interp_addr + (__u64)offsets->interp.threads_head);
	frame_addr = read_u64(l, tstate_addr + (__u64)offsets->thread.current_frame);
	if (!interrupt(l, read_u64(l, frame_addr + (__u64)offsets->frame.executable) & ~7ULL,
		       ret) ||
	    code_head_read(l->memory, offsets, ret->code_addr, &head) ||
	    code_head_check_type(l->memory, offsets, &head, l->code_type_addr))
		return false;
	assert_true(head.alive);
	assert_true(head.version);
	assert_int_equal(py_string_read(l->memory, offsets, head.qualname_addr, &name), 0);
	snprintf(ret_name, size, "%s", name);
	return true;
}

/*
 * Objects come and go before and during the look: the name is that of the interrupt, or none. If
 * the target loses its CPU while making an object, a name may be another's (symbolizer.c), but
 * rarely.
 */
static void check_churn(struct live *l)
{
	unsigned int looks = 0, churned = 0, named = 0, wrong = 0;
	double end = now_ns() + CHURN_MS * 1e6;
	char name[64], number[16];
	bool short_lived;

	say(l, "churn\n");
	for (; now_ns() < end; looks++) {
		struct source_position position;
		struct code_symbol symbol;
		struct code_query q;
		bool seen = stop_and_look(l, &q, name, sizeof(name));

		assert_int_equal(kill(l->script.pid, SIGCONT), 0);
		usleep(looks % 4 * 100);
		short_lived = seen && name[0] == 'c' && isdigit(name[1]);
		churned += short_lived;
		if (!seen || symbolizer__resolve(l->s, &q, &symbol, &position) != SYMBOL_OK)
			continue;
		named++;
		snprintf(number, sizeof(number), "c%05d", symbol.first_line);
		wrong += strcmp(symbol.qualname, name) != 0 ||
			 (short_lived && (strcmp(symbol.filename, name) || strcmp(number, name)));
	}
	printf("# %s: %u interrupts, %u of short-lived objects, %u named, %u wrong\n",
	       l->python->version, looks, churned, named, wrong);
	assert_true(churned > 0 && named > 0);
	assert_in_range(wrong, 0, looks / 200);
	kill(l->script.pid, SIGKILL);
	script_end(&l->script);
}

static void test_live_interpreters(void **state)
{
	struct python pythons[PYTHONS_MAX];
	size_t cnt = pythons_find(pythons, PYTHONS_MAX, 13);

	for (size_t i = 0; i < cnt; i++) {
		struct live live;

		live_start(&live, &pythons[i]);
		check_kept(&live);
		check_replaced(&live);
		check_churn(&live);
		live_end(&live);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_live_interpreters),
	};

	become_worker(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
