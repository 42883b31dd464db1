/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_code_listing.c - recorded opcodes, written to a DSO and read back: for a function with
 * samples, its instructions without samples, and nothing else.
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

#include "capture/dso/dso.h"
#include "capture/dso/dso_nop.h"
#include "capture/dso/dso_reader.h"
#include "capture/import/code_listing.h"
#include "profile/opcodes.h"
#include "profile/profile.h"

#define V_3_12 0x030c01f0
#define UNITS 12
/* Opcodes of 3.12; LOAD_ATTR has nine units of cache. */
enum { POP_TOP = 1, LOAD_ATTR = 106, RESUME = 151, CALL = 171, LINE = 254 };

/* co_linetable: eight units on the line after the first, four on the next one, all without columns. */
static const __u8 lines[] = { 0xef, 2, 0xeb, 2 };

/*
 * Lists what a function with these opcodes has besides the sampled units; opcodes NULL: not
 * recorded.
 */
static struct profile *list(const __u8 *opcodes, const __u32 *sampled, __u32 cnt)
{
	struct profile *written = profile__new(), *read = profile__new();
	struct dso *d = dso__new();
	struct profile_code code = { .name = dict__string(written->dict, "work"),
				     .file = dict__string(written->dict, "/app/work.py"),
				     .first_line = 3,
				     .unit_cnt = UNITS,
				     .lines = lines,
				     .lines_size = sizeof(lines) };
	struct profile_frame frame = { .kind = FRAME_PYTHON,
				       .name = code.name,
				       .file = code.file,
				       .first_line = 3,
				       .line = 4,
				       .column = -1,
				       .end_column = -1 };
	char path[] = "/tmp/krait-test-XXXXXX";
	struct code_place places[UNITS];
	struct dso_reader *r;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	frame.code = dict__code(written->dict, &code);
	if (opcodes)
		dict__put_opcodes(written->dict, frame.code, opcodes);
	for (__u32 i = 0; i < cnt; i++) {
		frame.unit = (int)sampled[i];
		places[i].offset =
			(dso__address(d, written->dict, dict__frame(written->dict, &frame)) -
			 DSO_BASE) /
			DSO_SLOT * DSO_SLOT;
		places[i].opcode = opcode_of(V_3_12, RESUME);
	}
	assert_int_equal(dso__write(d, 0, written->dict, "", fd), 0);
	close(fd);
	assert_int_equal(dso_reader__open(&r, path, NULL, 0), 0);
	for (__u32 i = 0; i < cnt; i++)
		places[i].reader = r;
	code_list(read->dict, places, cnt);
	dso_reader__free(r);
	unlink(path);
	dso__free(d);
	profile__free(written);
	return read;
}

static void assert_listed(const struct profile *p, __u32 number, int unit, __u8 opcode, int line)
{
	const struct profile_frame *f = dict__frame_at(p->dict, number);

	assert_int_equal(f->kind, FRAME_PYTHON);
	assert_string_equal(dict__text(p->dict, f->name), "work");
	assert_int_equal(f->unit, unit);
	assert_int_equal(f->opcode, opcode_of(V_3_12, opcode));
	assert_int_equal(f->line, line);
}

static void others_of_the_function_are_listed(void **state)
{
	/* A cache may contain anything. */
	const __u8 opcodes[UNITS] = { RESUME, LOAD_ATTR, CALL,	  CALL,	   POP_TOP, CALL,
				      CALL,   POP_TOP,	 POP_TOP, POP_TOP, POP_TOP, POP_TOP };
	static const __u32 at_0[] = { 0 }, at_1[] = { 1 };
	struct profile *p = list(opcodes, at_0, 1);

	assert_int_equal(dict__frame_cnt(p->dict), 2);
	assert_listed(p, 1, 1, LOAD_ATTR, 4);
	assert_listed(p, 2, 11, POP_TOP, 5);
	profile__free(p);
	p = list(opcodes, at_1, 1);
	assert_int_equal(dict__frame_cnt(p->dict), 2);
	assert_listed(p, 1, 0, RESUME, 4);
	assert_listed(p, 2, 11, POP_TOP, 5);
	profile__free(p);
}

static void what_hides_another_one_stops_it_up_to_the_next_sample(void **state)
{
	const __u8 opcodes[UNITS] = { RESUME, LINE, CALL, CALL, POP_TOP, POP_TOP, POP_TOP };
	static const __u32 sampled[] = { 0, 5 }, one[] = { 0 };
	struct profile *p = list(opcodes, sampled, 2);

	assert_int_equal(dict__frame_cnt(p->dict), 1);
	assert_listed(p, 1, 6, POP_TOP, 4);
	profile__free(p);
	p = list(opcodes, one, 1);
	assert_int_equal(dict__frame_cnt(p->dict), 0);
	profile__free(p);
	/* Not recorded. */
	p = list(NULL, sampled, 2);
	assert_int_equal(dict__frame_cnt(p->dict), 0);
	profile__free(p);
}

static void a_no_op_has_its_opcode_on_any_machine(void **state)
{
	static const __u8 arm[] = { 0x7f, 0x15, 0x80, 0xd2 }, none[] = { 0x1f, 0x20, 0x03, 0xd5 };
	__u8 slot[DSO_SLOT];

	for (int opcode = 0; opcode < 256; opcode++) {
		dso_nop_put(slot, (__u8)opcode);
		assert_int_equal(dso_nop_opcode(slot), opcode);
	}
	/* movz xzr, #171; nop */
	assert_int_equal(dso_nop_opcode(arm), 171);
	assert_int_equal(dso_nop_opcode(none), 0);
}

/* The 1st, 2nd, 4th ... time. */
static void looks_become_rare(void **state)
{
	struct profile *p = profile__new();
	const struct profile_code code = { .unit_cnt = UNITS };
	__u32 id = dict__code(p->dict, &code), looks = 0;

	for (int i = 0; i < 1000; i++)
		looks += dict__wants_opcodes(p->dict, id);
	assert_int_equal(looks, 10);
	assert_false(dict__wants_opcodes(p->dict, 0));
	profile__free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_of_the_function_are_listed),
		cmocka_unit_test(what_hides_another_one_stops_it_up_to_the_next_sample),
		cmocka_unit_test(a_no_op_has_its_opcode_on_any_machine),
		cmocka_unit_test(looks_become_rare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
