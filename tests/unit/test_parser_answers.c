/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_parser_answers.c - the checks on a parser's answers: a hijacked parser may say anything.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "native/names/parser_jobs.h"

static struct parser_answer answer;

/* One offset, found with the name "name". */
static size_t make_answer(struct parser_request *r)
{
	*r = (struct parser_request){ .job = PARSER_FIND, .cnt = 1, .offsets = { 50 } };
	memset(&answer, 0, sizeof(answer));
	answer.job = PARSER_FIND;
	answer.found.cnt = 1;
	answer.found.places[0] = (struct parser_place){ 40, 60, 45, 0, 0 };
	answer.found.names_size = 5;
	memcpy(answer.found.names, "name", 5);
	return parser_answer_size(&answer);
}

static void an_answer_that_cannot_be_is_not_believed(void **state)
{
	struct parser_request r;
	struct parser_place *p = &answer.found.places[0];
	size_t len = make_answer(&r);

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		make_answer(&r);                                                                   \
		change;                                                                            \
		assert_false(parser_answer_check(&answer, len, &r));                               \
	} while (0)
	assert_true(parser_answer_check(&answer, len, &r));
	REFUSED(answer.job = PARSER_OPEN);
	REFUSED(answer.result = 1);
	REFUSED(answer.found.cnt = 0);
	REFUSED(answer.found.cnt = 2);
	REFUSED(answer.found.names_size = 4);
	REFUSED(answer.found.names_size = ~0U);
	REFUSED(answer.found.names[4] = 'x');
	REFUSED(p->start = 51);
	REFUSED(p->end = 50);
	REFUSED(p->symbol_start = 51);
	REFUSED(p->name = 5);
	REFUSED(p->name = 4); /* a name must not be empty */
	make_answer(&r);
	for (size_t cut = 0; cut < len; cut++)
		assert_false(parser_answer_check(&answer, cut, &r));
	assert_false(parser_answer_check(&answer, len + 1, &r));
}

static size_t make_rows(struct parser_request *r)
{
	*r = (struct parser_request){ .job = PARSER_ROWS_MORE, .at = 2 };
	memset(&answer, 0, sizeof(answer));
	answer.job = PARSER_ROWS_MORE;
	answer.rows = (struct parser_rows){
		.page_cnt = 1, .rule_cnt = 1, .row_cnt = 5, .at = 2, .word_cnt = 8
	};
	return parser_answer_size(&answer);
}

static void rows_that_cannot_be_are_not_believed(void **state)
{
	struct parser_request r;
	size_t len = make_rows(&r);

#define REFUSED_ROWS(change)                                                                       \
	do {                                                                                       \
		make_rows(&r);                                                                     \
		change;                                                                            \
		assert_false(parser_answer_check(&answer, len, &r));                               \
	} while (0)
	assert_true(parser_answer_check(&answer, len, &r));
	REFUSED_ROWS(answer.rows.at = 3);
	REFUSED_ROWS(answer.rows.at = ~0U);
	REFUSED_ROWS(answer.rows.word_cnt = 9);
	REFUSED_ROWS(answer.rows.word_cnt = 0);
	REFUSED_ROWS(answer.rows.word_cnt = ~0U);
	REFUSED_ROWS(answer.rows.row_cnt = 4);
	REFUSED_ROWS(answer.job = PARSER_ROWS);
	make_rows(&r);
	for (size_t cut = 0; cut < len; cut++)
		assert_false(parser_answer_check(&answer, cut, &r));
}

static void what_a_file_says_of_a_runtime_stays_within_the_answer(void **state)
{
	const struct parser_request r = { .job = PARSER_RUNTIME };
	struct elf_runtime *e = &answer.runtime;
	size_t len;

	memset(&answer, 0, sizeof(answer));
	answer.job = PARSER_RUNTIME;
	len = parser_answer_size(&answer);
	assert_true(parser_answer_check(&answer, len, &r));
	assert_false(parser_answer_check(&answer, len - 1, &r));
	e->table_len = sizeof(e->table) + 1;
	assert_false(parser_answer_check(&answer, len, &r));
	e->table_len = sizeof(e->table);
	e->build_id_len = sizeof(e->build_id) + 1;
	assert_false(parser_answer_check(&answer, len, &r));
	e->build_id_len = 0;
	memset(&e->debug, 2, 1);
	assert_false(parser_answer_check(&answer, len, &r));
	memset(&e->debug, 1, 1);
	assert_true(parser_answer_check(&answer, len, &r));
	/* Only a process can prove offsets. */
	e->proved_by = PY_SOURCE_DWARF;
	assert_false(parser_answer_check(&answer, len, &r));
}

static void a_table_of_a_file_is_as_long_as_its_kind_says(void **state)
{
	struct parser_request r = { .job = PARSER_TABLE, .at = PUBLISHED_ASYNCIO };
	size_t len;

	memset(&answer, 0, sizeof(answer));
	answer.job = PARSER_TABLE;
	len = parser_answer_size(&answer);
	assert_false(parser_answer_check(&answer, len, &r));
	answer.table.len = sizeof(struct published_asyncio);
	assert_true(parser_answer_check(&answer, len, &r));
	assert_false(parser_answer_check(&answer, len - 1, &r));
	answer.table.len++;
	assert_false(parser_answer_check(&answer, len, &r));
	r.at = PUBLISHED_KINDS;
	assert_false(parser_request_check(&r, parser_request_size(&r)));
}

static void answers_with_sources_that_do_not_add_up_are_refused(void **state)
{
	struct parser_request r = { .job = PARSER_SOURCE, .cnt = 2, .offsets = { 1, 2 } };
	struct parser_answer a = { .job = PARSER_SOURCE,
				   .sources = { .cnt = 2, .names_size = 2, .ends = { 1, 2 } } };
	const struct parser_source_frame whole = { 0, PARSER_NO_NAME, 3 };
	struct parser_answer good;

	memcpy(a.sources.names, "f", 2);
	a.sources.frames[0] = a.sources.frames[1] = whole;
	good = a;
	assert_true(parser_answer_check(&a, parser_answer_size(&a), &r));
	a.sources.frames[1].line = -1;
	assert_false(parser_answer_check(&a, parser_answer_size(&a), &r));
	a.sources.frames[1] = (struct parser_source_frame){ 1, PARSER_NO_NAME, 3 };
	assert_false(parser_answer_check(&a, parser_answer_size(&a), &r));
	a.sources.frames[1] = (struct parser_source_frame){ 0, 2, 3 };
	assert_false(parser_answer_check(&a, parser_answer_size(&a), &r));
	a.sources.frames[1] = whole;
	a.sources.ends[1] = 0;
	assert_false(parser_answer_check(&a, parser_answer_size(&a), &r));
	a.sources.ends[1] = PARSER_SOURCE_FRAMES + 1;
	assert_false(parser_answer_check(&a, parser_answer_size(&a), &r));
	a = good;
	a.sources.cnt = 3;
	assert_false(parser_answer_check(&a, parser_answer_size(&a), &r));
	a = good;
	a.sources.cnt = 0;
	assert_false(parser_answer_check(&a, parser_answer_size(&a), &r));
	a = good;
	a.sources.split_cnt = a.sources.cnt;
	assert_true(parser_answer_check(&a, parser_answer_size(&a), &r));
	a.sources.split_cnt++;
	assert_false(parser_answer_check(&a, parser_answer_size(&a), &r));
	a = good;
	a.sources.names_size = PARSER_NAMES_MAX + 1;
	assert_false(parser_answer_check(&a, parser_answer_size(&a), &r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_that_cannot_be_is_not_believed),
		cmocka_unit_test(rows_that_cannot_be_are_not_believed),
		cmocka_unit_test(what_a_file_says_of_a_runtime_stays_within_the_answer),
		cmocka_unit_test(a_table_of_a_file_is_as_long_as_its_kind_says),
		cmocka_unit_test(answers_with_sources_that_do_not_add_up_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
