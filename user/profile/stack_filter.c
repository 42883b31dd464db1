/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/stack_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/marks.h"
#include "profile/states.h"
#include "base/text/short_path.h"
#include "base/data/vec.h"

struct stack_filter {
	const char *pattern;
	enum pattern_use use;
	bool *wanted; /* by node, for nodes below known */
	__u32 known, cap;
};

struct stack_filter *stack_filter__new(const char *pattern, enum pattern_use use)
{
	struct stack_filter *f = calloc(1, sizeof(*f));

	if (f) {
		f->pattern = pattern;
		f->use = use;
	}
	return f;
}

void stack_filter__free(struct stack_filter *f)
{
	if (!f)
		return;
	free(f->wanted);
	free(f);
}

/* text: "[lock]", "[io: read pipe]". */
static bool mark_matches(const char *pattern, enum pattern_use use, const char *text)
{
	const enum state state = state_of_mark(text);
	char inner[MARK_SIZE];

	if (use == PATTERN_GLOB || *text != '[')
		return false;
	snprintf(inner, sizeof(inner), "%.*s", (int)strcspn(text + 1, "]"), text + 1);
	return !strcmp(pattern, inner) || (state && !strcmp(pattern, state_name(state)));
}

bool frame_matches(const char *pattern, enum pattern_use use, enum frame_kind kind,
		   const char *name, const char *file)
{
	const char *dot = strrchr(name, '.');

	if (kind == FRAME_PROCESS || kind == FRAME_THREAD)
		return false;
	if (kind == FRAME_MARK && mark_matches(pattern, use, name))
		return true;
	return pattern_matches(pattern, use, name) ||
	       (dot && pattern_matches(pattern, use, dot + 1)) ||
	       (*file && pattern_matches(pattern, use, base_name(file)));
}

static bool matches(const struct stack_filter *f, const struct dict *dict, __u32 id)
{
	const struct profile_frame *frame = dict__frame_at(dict, id);

	return frame_matches(f->pattern, f->use, frame->kind, dict__text(dict, frame->name),
			     dict__text(dict, frame->file));
}

/* Room to remember the answer for a node. */
static bool reserve(struct stack_filter *f, __u32 node)
{
	return !vec_reserve(f->wanted, f->cap, node + 1);
}

/* A node is created after its parent, so answers can be computed in the order of nodes. */
bool stack_filter__wants(struct stack_filter *f, const struct dict *dict, __u32 node)
{
	const struct profile_node *n;

	if (!reserve(f, node)) {
		for (; node; node = dict__node_at(dict, node)->parent) {
			if (matches(f, dict, dict__node_at(dict, node)->frame))
				return true;
		}
		return false;
	}
	for (; f->known <= node; f->known++) {
		n = dict__node_at(dict, f->known);
		f->wanted[f->known] = f->known &&
				      (f->wanted[n->parent] || matches(f, dict, n->frame));
	}
	return f->wanted[node];
}
