/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/parser/parser_protocol.h"

#include <string.h>

_Static_assert(sizeof(struct parser_answer) <= 65536, "longer than a message can be");

bool parser_request_check(const struct parser_request *r, size_t len)
{
	if (len < offsetof(struct parser_request, offsets) || len > sizeof(*r))
		return false;
	if ((r->job == PARSER_FIND || r->job == PARSER_SOURCE) &&
	    (!r->cnt || r->cnt > PARSER_PLACES_MAX))
		return false;
	if (r->job == PARSER_TABLE && r->at >= PUBLISHED_KINDS)
		return false;
	if (r->job == PARSER_PROBE &&
	    (r->at >= PROBE_KINDS || !r->cnt || r->cnt > sizeof(r->name) / sizeof(__u64) ||
	     len != parser_request_size(r) || r->name[r->cnt * sizeof(__u64) - 1]))
		return false;
	return r->file < PARSER_FILES_MAX && len == parser_request_size(r);
}

static bool is_of_rows(__u32 job)
{
	return job == PARSER_ROWS || job == PARSER_ROWS_MADE || job == PARSER_ROWS_MORE;
}

size_t parser_answer_size(const struct parser_answer *a)
{
	static const size_t sizes[] = {
		[PARSER_DWARF] = sizeof(a->dwarf),
		[PARSER_OPEN] = sizeof(a->opened),
		[PARSER_FIND] = offsetof(struct parser_found, names),
		[PARSER_SOURCE] = offsetof(struct parser_sources, names),
		[PARSER_RUNTIME] = sizeof(a->runtime),
		[PARSER_TABLE] = sizeof(a->table),
		[PARSER_ROWS] = offsetof(struct parser_rows, words),
		[PARSER_ROWS_MADE] = offsetof(struct parser_rows, words),
		[PARSER_ROWS_MORE] = offsetof(struct parser_rows, words),
		[PARSER_PROBE] = sizeof(a->probes),
		[PARSER_JOB_CNT] = 0,
	};
	size_t size = offsetof(struct parser_answer, dwarf);

	if (a->job >= PARSER_JOB_CNT || (a->result && a->job != PARSER_DWARF))
		return size;
	size += sizes[a->job];
	if (a->job == PARSER_FIND)
		return size + a->found.names_size;
	if (a->job == PARSER_SOURCE)
		return size + a->sources.names_size;
	if (is_of_rows(a->job))
		return size + a->rows.word_cnt * sizeof(a->rows.words[0]);
	return size;
}

/* Everything lies within what the request asked for, and each name is terminated. */
static bool found_is_sound(const struct parser_found *f, const struct parser_request *request)
{
	if (!f->cnt || f->cnt > request->cnt || f->names_size > sizeof(f->names) ||
	    (f->names_size && f->names[f->names_size - 1]))
		return false;
	for (__u32 i = 0; i < f->cnt; i++) {
		const struct parser_place *p = &f->places[i];
		__u64 offset = request->offsets[i];

		if (offset < p->start || offset >= p->end || p->is_wrapper > 1 || p->is_python > 1)
			return false;
		if (p->name != PARSER_NO_NAME &&
		    (p->name >= f->names_size || !f->names[p->name] || p->symbol_start > offset ||
		     strnlen(f->names + p->name, PARSER_NAME_MAX + 1) > PARSER_NAME_MAX))
			return false;
	}
	return true;
}

static bool is_text(const char *names, __u32 size, __u32 at, size_t max)
{
	return at == PARSER_NO_NAME ||
	       (at < size && names[at] && strnlen(names + at, max + 1) <= max);
}

static bool sources_are_sound(const struct parser_sources *s, const struct parser_request *request)
{
	__u32 begin = 0;

	if (!s->cnt || s->cnt > request->cnt || s->split_cnt > s->cnt ||
	    s->names_size > sizeof(s->names) || (s->names_size && s->names[s->names_size - 1]))
		return false;
	for (__u32 i = 0; i < s->cnt; begin = s->ends[i++]) {
		if (s->ends[i] < begin || s->ends[i] > PARSER_SOURCE_FRAMES)
			return false;
	}
	for (__u32 i = 0; i < begin; i++) {
		const struct parser_source_frame *f = &s->frames[i];

		if (f->line < 0 || !is_text(s->names, s->names_size, f->name, PARSER_NAME_MAX) ||
		    !is_text(s->names, s->names_size, f->file, PARSER_NAME_MAX))
			return false;
	}
	return true;
}

/* Its numbers are consistent with each other; whether they are true is checked in a process. */
static bool runtime_is_sound(const struct elf_runtime *e)
{
	__u8 debug, alone;

	memcpy(&debug, &e->debug, sizeof(debug));
	memcpy(&alone, &e->alone, sizeof(alone));
	return debug <= 1 && alone <= 1 && e->table_len <= sizeof(e->table) &&
	       e->proved_by == PY_SOURCE_NONE && e->build_id_len <= sizeof(e->build_id);
}

static bool has_rows(const struct parser_answer *a)
{
	return is_of_rows(a->job) && !a->result;
}

/* Everything lies within the words present. Users check their meaning (native/rows/tables.h). */
static bool rows_are_sound(const struct parser_rows *r, const struct parser_request *request)
{
	__u64 all = (__u64)r->rule_cnt * 4 + r->page_cnt + r->row_cnt;

	return r->at == (request->job == PARSER_ROWS_MORE ? request->at : 0) && r->word_cnt &&
	       r->at + (__u64)r->word_cnt <= all;
}

static bool probes_are_sound(const struct parser_probes *p)
{
	return p->cnt <= PROBE_PLACES_MAX && memchr(p->there, '\0', sizeof(p->there));
}

bool parser_answer_check(const struct parser_answer *a, size_t len,
			 const struct parser_request *request)
{
	if (len < offsetof(struct parser_answer, dwarf) || len > sizeof(*a) ||
	    a->job != request->job || a->result > 0)
		return false;
	if (a->job == PARSER_FIND && !a->result &&
	    (len < offsetof(struct parser_answer, found.names) ||
	     a->found.names_size > sizeof(a->found.names)))
		return false;
	if (a->job == PARSER_SOURCE && !a->result &&
	    (len < offsetof(struct parser_answer, sources.names) ||
	     a->sources.names_size > sizeof(a->sources.names)))
		return false;
	if (has_rows(a) && (len < offsetof(struct parser_answer, rows.words) ||
			    a->rows.word_cnt > PARSER_ROW_WORDS))
		return false;
	if (len != parser_answer_size(a))
		return false;
	if (a->job == PARSER_DWARF)
		return memchr(a->dwarf.why, '\0', sizeof(a->dwarf.why)) != NULL;
	if (a->result)
		return true;
	if (a->job == PARSER_OPEN)
		return a->opened.build_id_size <= sizeof(a->opened.build_id);
	if (a->job == PARSER_RUNTIME)
		return runtime_is_sound(&a->runtime);
	if (a->job == PARSER_TABLE)
		return a->table.len == published_infos[request->at].size;
	if (a->job == PARSER_SOURCE)
		return sources_are_sound(&a->sources, request);
	if (a->job == PARSER_PROBE)
		return probes_are_sound(&a->probes);
	return has_rows(a) ? rows_are_sound(&a->rows, request) : found_is_sound(&a->found, request);
}
