/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/naming.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "profile/marks.h"
#include "profile/opcodes.h"
#include "profile/profile.h"
#include "record/follow/processes.h"
#include "record/samples/kept_sources.h"
#include "profile/items.h"
#include "python/code/linetable.h"
#include "python/code/symbolizer.h"
#include "base/data/cleanup.h"
#include "base/text/log.h"

/* With -v, name at most this many unknown functions by address. */
#define UNKNOWN_LOGGED_MAX 64

/* Makes the frame for a code object that can no longer be read or trusted. */
static void unknown_frame(struct naming *n, const struct process *p, const struct frame *f,
			  struct profile_frame *frame)
{
	frame->name = dict__string(n->profile->dict, NAME_UNREADABLE);
	frame->unknown = true;
	if (n->logged++ < UNKNOWN_LOGGED_MAX)
		log_debug("naming", "unknown function: pid %d, code %#llx", p->pid, f->code_addr);
}

/*
 * The node for a code object whose owner's share of names is closed. Several in a row are one frame,
 * so that a deep stack of them costs little. It is unknown, so it is named anew in the next stack.
 */
static __u32 left_out_node(struct naming *n, __u32 parent)
{
	struct dict *dict = n->profile->dict;
	struct profile_frame frame = {
		.kind = FRAME_MARK, .line = -1, .column = -1, .end_column = -1, .unknown = true
	};
	__u32 id;

	frame.name = dict__string(dict, MARK_LEFT_OUT);
	id = dict__frame(dict, &frame);
	if (id && dict__node_at(dict, parent)->frame == id)
		return parent;
	return dict__child(dict, parent, id);
}

/* The profile's number of this code object; 0: no room. */
static __u32 add_code(struct naming *n, const struct code_symbol *code)
{
	struct profile_code new = {
		.name = dict__string(n->profile->dict, code->qualname),
		.file = dict__string(n->profile->dict, code->filename),
		.first_line = code->first_line,
		.unit_cnt = linetable_unit_cnt(code->lines),
		.lines = code->lines->bytes,
		.lines_size = code->lines->size,
	};

	return dict__code(n->profile->dict, &new);
}

static void name_frame(struct naming *n, struct process *p, struct profile_frame *frame,
		       const struct code_symbol *code)
{
	struct dict *dict = n->profile->dict;
	const struct profile_code *known;

	frame->code = dict__tagged(dict, *code->tag);
	if (!frame->code) {
		__u64 bytes = dict__bytes_added(dict);

		frame->code = add_code(n, code);
		/* What was only forgotten, with all that no window holds, is nothing new. */
		if (!*code->tag)
			symbolizer__note_bytes(p->symbolizer, dict__bytes_added(dict) - bytes);
		*code->tag = dict__tag(dict, frame->code);
		if (n->sources && frame->code)
			kept_sources__met(n->sources, p, frame->code);
	}
	frame->first_line = code->first_line;
	if (frame->code) {
		known = dict__code_at(n->profile->dict, frame->code);
		frame->name = known->name;
		frame->file = known->file;
	} else {
		frame->name = dict__string(n->profile->dict, code->qualname);
		frame->file = dict__string(n->profile->dict, code->filename);
	}
}

/* Opcodes are recorded: keeps the code's other instructions, too (output/text/annotate.h). */
static void look_at_opcodes(struct naming *n, struct process *p, const struct frame *f, __u32 code)
{
	struct dict *dict = n->profile->dict;
	cleanup_free __u8 *opcodes = NULL;
	__u32 unit_cnt;

	if (!dict__wants_opcodes(dict, code))
		return;
	unit_cnt = dict__code_at(dict, code)->unit_cnt;
	if (!unit_cnt || unit_cnt > SYMBOLIZER_UNITS_MAX)
		return;
	opcodes = malloc(unit_cnt);
	if (opcodes && !symbolizer__opcodes(p->symbolizer, f->code_addr, opcodes, unit_cnt))
		dict__put_opcodes(dict, code, opcodes);
}

/* Where in the code the frame is, and at which opcode. */
static __u32 instr_of(const struct frame *f)
{
	return (__u32)f->instr_off << 8 | f->opcode;
}

static struct naming_memo *memo_at(struct naming *n, __u32 parent, __u32 code, __u32 instr)
{
	__u32 hash = parent * 0x9e3779b1U ^ code * 0x85ebca6bU ^ instr * 0xc2b2ae35U;

	return &n->memos[hash >> (32 - NAMING_MEMO_BITS)];
}

/* The node that this place in this code got below parent when it was last named there; 0 unknown. */
static __u32 remembered(struct naming *n, __u32 parent, const struct code_symbol *code, __u32 instr)
{
	__u32 id = dict__tagged(n->profile->dict, *code->tag);
	const struct naming_memo *m = memo_at(n, parent, id, instr);

	if (!id || m->parent != parent || m->code != id || m->instr != instr)
		return 0;
	return dict__tagged(n->profile->dict, m->node);
}

static void remember(struct naming *n, __u32 parent, __u32 code, __u32 instr, __u32 node)
{
	*memo_at(n, parent, code, instr) = (struct naming_memo){
		.node = dict__tag(n->profile->dict, node),
		.parent = parent,
		.code = code,
		.instr = instr,
	};
}

static struct code_query query_of(const struct record_sample *record, const struct frame *f)
{
	return (struct code_query){
		.code_addr = f->code_addr,
		.interp_addr = record->interp_addr,
		.code_generation = record->code_generation,
		.fingerprint = f->fingerprint,
		.instr_off = f->instr_off,
	};
}

/*
 * A fork may run a function for the first time whose memory is not present in it, and end before it
 * is asked. Its parent still has the code that it was forked with: the same, if the fingerprint is.
 * Not if that is somebody else's process: its owner would pay for what this one asks for.
 */
static enum symbol_status resolve(const struct naming *n, const struct process *p,
				  const struct code_query *query, struct code_symbol *code,
				  struct source_position *position)
{
	enum symbol_status status = symbolizer__resolve(p->symbolizer, query, code, position);
	const struct process *parent;

	if (status == SYMBOL_OK || status == SYMBOL_LEFT_OUT || !query->fingerprint ||
	    !p->parent_pid || !n->processes)
		return status;
	parent = processes__find(n->processes, p->parent_pid);
	return parent && parent->symbolizer && parent->owner == p->owner ?
		       symbolizer__resolve(parent->symbolizer, query, code, position) :
		       status;
}

unsigned naming_role(struct process *p, const struct record_sample *record, const struct frame *f)
{
	struct code_query query = query_of(record, f);
	struct code_symbol code;

	if (symbolizer__resolve(p->symbolizer, &query, &code, NULL) != SYMBOL_OK)
		return 0;
	return code.roles | ITEM_HAS_ROLES;
}

void naming_roles(struct process *p, const struct record_sample *record, struct items *items,
		  __u32 cnt, struct named *last)
{
	bool same_code = last->under.code_generation == record->code_generation &&
			 last->under.interp_addr == record->interp_addr;

	for (__u32 i = 0; i < cnt; i++) {
		struct item *item = &items->list[i];
		struct named_item *was = same_code ? named_frame(last, i, item) : NULL;

		if (item->kind != ITEM_PYTHON)
			continue;
		item->roles = was && was->roles ? was->roles :
						  (__u8)naming_role(p, record, &item->frame);
		if (was)
			was->roles = item->roles;
	}
}

__u32 naming_node(struct naming *n, struct process *p, __u32 parent,
		  const struct record_sample *record, const struct frame *f)
{
	struct code_query query = query_of(record, f);
	struct profile_frame frame = { .kind = FRAME_PYTHON, .end_column = -1, .unit = -1 };
	struct source_position position = { -1, -1, -1, -1 };
	struct code_symbol code;
	enum symbol_status status = resolve(n, p, &query, &code, NULL);
	bool known = status == SYMBOL_OK;
	__u32 node, cnt;

	if (status == SYMBOL_LEFT_OUT)
		return left_out_node(n, parent);
	if (known && code.roles & CODE_INTERNAL)
		return parent;
	node = known ? remembered(n, parent, &code, instr_of(f)) : 0;
	if (node)
		return node;
	if (known && resolve(n, p, &query, &code, &position) == SYMBOL_OK) {
		name_frame(n, p, &frame, &code);
		if (f->instr_off >= 0) {
			frame.unit = f->instr_off / 2;
			frame.opcode = opcode_of(symbolizer__version(p->symbolizer), f->opcode);
			if (frame.opcode)
				look_at_opcodes(n, p, f, frame.code);
		}
	} else {
		unknown_frame(n, p, f, &frame);
	}
	frame.line = position.line;
	frame.column = position.column;
	if (position.end_line == position.line)
		frame.end_column = position.end_column;
	cnt = dict__node_cnt(n->profile->dict);
	node = dict__child(n->profile->dict, parent, dict__frame(n->profile->dict, &frame));
	if (frame.unknown && dict__node_cnt(n->profile->dict) > cnt)
		profile__counts(n->profile, record->event)->accounts.unknown_frames++;
	/*
	 * Its lines may have found no room; then two different code objects may look the same
	 * otherwise.
	 */
	if (frame.code &&
	    dict__code_at(n->profile->dict, frame.code)->lines_size == code.lines->size)
		remember(n, parent, frame.code, instr_of(f), node);
	return node;
}
