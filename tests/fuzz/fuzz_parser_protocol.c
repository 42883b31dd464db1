/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_parser_protocol.c - both ends of the protocol between krait and a parser: any message gets
 * an answer or none, and every place and name in an accepted answer lies within it.
 */
#include <linux/types.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "native/names/parser_jobs.h"
#include "process/parser/parser_protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t length;

static void follow_sources(const struct parser_sources *s, const struct parser_request *r)
{
	if (!s->cnt || s->cnt > r->cnt || s->names_size > PARSER_NAMES_MAX)
		abort();
	for (__u32 i = 0; i < s->ends[s->cnt - 1]; i++) {
		if (i >= PARSER_SOURCE_FRAMES || s->frames[i].line < 0)
			abort();
		if (s->frames[i].name != PARSER_NO_NAME)
			length += strlen(s->names + s->frames[i].name);
		if (s->frames[i].file != PARSER_NO_NAME)
			length += strlen(s->names + s->frames[i].file);
	}
}

static void follow(const struct parser_answer *a, const struct parser_request *r)
{
	if (a->job == PARSER_RUNTIME && !a->result &&
	    (a->runtime.table_len > sizeof(a->runtime.table) ||
	     a->runtime.build_id_len > sizeof(a->runtime.build_id)))
		abort();
	if (a->job == PARSER_TABLE && !a->result && a->table.len > sizeof(a->table.bytes))
		abort();
	if (!a->result && a->job == PARSER_SOURCE)
		follow_sources(&a->sources, r);
	if (a->result || a->job != PARSER_FIND)
		return;
	if (!a->found.cnt || a->found.cnt > r->cnt || a->found.names_size > PARSER_NAMES_MAX)
		abort();
	for (__u32 i = 0; i < a->found.cnt; i++) {
		const struct parser_place *p = &a->found.places[i];

		if (p->start > r->offsets[i] || p->end <= r->offsets[i])
			abort();
		if (p->name == PARSER_NO_NAME)
			continue;
		if (p->name >= a->found.names_size)
			abort();
		length += strlen(a->found.names + p->name);
	}
}

/* Without descriptors nothing is opened: an invalid request must be refused before that. */
static void as_request(const uint8_t *data, size_t size)
{
	struct parser_answer *answer = calloc(1, sizeof(*answer));
	struct parser_jobs *jobs = parser_jobs__new();
	void *message = malloc(size ? size : 1);
	size_t len;

	memcpy(message, data, size);
	len = parser_jobs__answer(jobs, message, size, NULL, 0, answer);
	if (len > sizeof(*answer))
		abort();
	if (len && !parser_answer_check(answer, len, message))
		abort();
	parser_jobs__free(jobs);
	free(message);
	free(answer);
}

static void as_answer(const uint8_t *data, size_t size)
{
	struct parser_answer *answer = calloc(1, sizeof(*answer));
	struct parser_request request = { .job = 1 + data[0] % (PARSER_JOB_CNT - 1),
					  .file = 1,
					  .cnt = 1 + data[0] % 4,
					  .offsets = { 0, 16, 32, 48 } };

	size = size - 1 < sizeof(*answer) ? size - 1 : sizeof(*answer);
	memcpy(answer, data + 1, size);
	if (size && parser_answer_check(answer, size, &request))
		follow(answer, &request);
	free(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] & 0x80)
		as_answer(data, size);
	else
		as_request(data + 1, size - 1);
	return 0;
}
