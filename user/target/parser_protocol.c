/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/parser_protocol.h"

#include <string.h>

_Static_assert(sizeof(struct parser_answer) <= 65536, "longer than a message can be");

bool parser_request_check(const struct parser_request *r, size_t len)
{
	if (len < offsetof(struct parser_request, offsets) || len > sizeof(*r))
		return false;
	if (r->job == PARSER_FIND && (!r->cnt || r->cnt > PARSER_PLACES_MAX))
		return false;
	return r->file < PARSER_FILES_MAX && len == parser_request_size(r);
}

size_t parser_answer_size(const struct parser_answer *a)
{
	static const size_t sizes[] = {
		[PARSER_DWARF] = sizeof(a->dwarf),
		[PARSER_OPEN] = sizeof(a->opened),
		[PARSER_FIND] = offsetof(struct parser_found, names),
		[PARSER_RUNTIME] = sizeof(a->runtime),
	};
	size_t size = offsetof(struct parser_answer, dwarf);

	if (a->job >= sizeof(sizes) / sizeof(sizes[0]) || (a->result && a->job != PARSER_DWARF))
		return size;
	return size + sizes[a->job] + (a->job == PARSER_FIND ? a->found.names_size : 0);
}

/* Within what the request asked for, each with a name that ends. */
static bool found_is_sound(const struct parser_found *f, const struct parser_request *request)
{
	if (!f->cnt || f->cnt > request->cnt || f->names_size > sizeof(f->names) ||
	    (f->names_size && f->names[f->names_size - 1]))
		return false;
	for (__u32 i = 0; i < f->cnt; i++) {
		const struct parser_place *p = &f->places[i];
		__u64 offset = request->offsets[i];

		if (offset < p->start || offset >= p->end || p->return_word < -1 ||
		    p->return_word > 128)
			return false;
		if (p->name != PARSER_NO_NAME &&
		    (p->name >= f->names_size || !f->names[p->name] || p->symbol_start > offset ||
		     strnlen(f->names + p->name, PARSER_NAME_MAX + 1) > PARSER_NAME_MAX))
			return false;
	}
	return true;
}

/* Its numbers stay within it; whether they are true is found out in a process. */
static bool runtime_is_sound(const struct elf_runtime *e)
{
	__u8 debug;

	memcpy(&debug, &e->debug, sizeof(debug));
	return debug <= 1 && e->table_len <= sizeof(e->table) && e->proved_by == PY_SOURCE_NONE &&
	       e->build_id_len <= sizeof(e->build_id);
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
	if (len != parser_answer_size(a))
		return false;
	if (a->job == PARSER_DWARF)
		return memchr(a->dwarf.why, '\0', sizeof(a->dwarf.why)) != NULL;
	if (a->result)
		return true;
	if (a->job == PARSER_OPEN)
		return a->opened.build_id_size <= sizeof(a->opened.build_id);
	return a->job == PARSER_RUNTIME ? runtime_is_sound(&a->runtime) :
					  found_is_sound(&a->found, request);
}
