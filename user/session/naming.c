/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/naming.h"

#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "profile/marks.h"
#include "profile/profile.h"
#include "follow/processes.h"
#include "symbol/linetable.h"
#include "symbol/symbolizer.h"
#include "util/log.h"

/* With -v so many functions that remain unknown are named by address. */
#define UNKNOWN_LOGGED_MAX 64

void naming_clear(struct naming *n)
{
	free(n->unknown);
	n->unknown = NULL;
	n->cap = 0;
}

/* What stands for a frame whose code object cannot be read, or not be trusted, any more. */
static void unknown_frame(struct naming *n, const struct process *p,
			  const struct record_sample *record, const struct frame *f,
			  struct profile_frame *frame)
{
	frame->name = profile__string(n->profile, NAME_UNREADABLE);
	profile__event_accounts(n->profile, record->event)->unknown_frames++;
	if (n->logged++ < UNKNOWN_LOGGED_MAX)
		log_debug("naming", "unknown function: pid %d, code %#llx", p->pid, f->code_addr);
}

bool naming_is_unknown(const struct naming *n, __u32 node)
{
	return node < n->cap && n->unknown[node / 8] >> node % 8 & 1;
}

static void set_unknown(struct naming *n, __u32 node)
{
	__u32 cap = n->cap ? n->cap : 8192;
	__u8 *more;

	while (cap <= node)
		cap *= 2;
	if (cap > n->cap) {
		more = realloc(n->unknown, cap / 8);
		if (!more)
			return; /* one too few is counted */
		memset(more + n->cap / 8, 0, (cap - n->cap) / 8);
		n->unknown = more;
		n->cap = cap;
	}
	n->unknown[node / 8] |= 1U << node % 8;
}

/*
 * Under a class that is called, the interpreter keeps a frame of its own which only checks that
 * __init__ gave None (_Py_InitCleanup, Python/specialize.c, 3.13+). No source has
 * it, and CPython shows it nowhere. Its code starts at line 0, as no compiled function does.
 */
static bool is_init_check(const struct code_symbol *code)
{
	return code->first_line == 0 && !strcmp(code->qualname, "__init__") &&
	       !strcmp(code->filename, "__init__");
}

/* The code object of the profile that this is; 0 where there is no room. */
static __u32 add_code(struct naming *n, const struct code_symbol *code)
{
	struct profile_code new = {
		.name = profile__string(n->profile, code->qualname),
		.file = profile__string(n->profile, code->filename),
		.first_line = code->first_line,
		.unit_cnt = linetable_unit_cnt(code->lines),
		.lines = code->lines->bytes,
		.lines_size = code->lines->size,
	};

	return profile__code(n->profile, &new);
}

static void name_frame(struct naming *n, struct profile_frame *frame,
		       const struct code_symbol *code)
{
	const struct profile_code *known;

	if (!*code->tag)
		*code->tag = add_code(n, code);
	frame->first_line = code->first_line;
	frame->code = *code->tag;
	if (frame->code) {
		known = profile__code_at(n->profile, frame->code);
		frame->name = known->name;
		frame->file = known->file;
	} else {
		frame->name = profile__string(n->profile, code->qualname);
		frame->file = profile__string(n->profile, code->filename);
	}
}

__u32 naming_node(struct naming *n, struct process *p, __u32 parent,
		  const struct record_sample *record, const struct frame *f)
{
	struct code_query query = {
		.code_addr = f->code_addr,
		.interp_addr = record->interp_addr,
		.code_generation = record->code_generation,
		.fingerprint = f->fingerprint,
		.instr_off = f->instr_off,
	};
	struct profile_frame frame = { .kind = FRAME_PYTHON, .unit = -1 };
	struct source_position position = { -1, -1, -1, -1 };
	struct code_symbol code;
	bool unknown = naming_is_unknown(n, parent);
	__u32 node;

	if (symbolizer__resolve(p->symbolizer, &query, &code, &position) == SYMBOL_OK) {
		if (is_init_check(&code))
			return parent;
		name_frame(n, &frame, &code);
		if (f->instr_off >= 0)
			frame.unit = f->instr_off / 2;
	} else {
		unknown_frame(n, p, record, f, &frame);
		unknown = true;
	}
	frame.line = position.line;
	frame.end_line = position.end_line;
	frame.column = position.column;
	frame.end_column = position.end_column;
	node = profile__child(n->profile, parent, profile__frame(n->profile, &frame));
	if (unknown && node)
		set_unknown(n, node);
	return node;
}
