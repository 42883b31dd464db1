/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/stack_filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "util/short_path.h"
#include "util/vec.h"

struct stack_filter {
	const char *pattern;
	bool *wanted; /* by node, for nodes below known */
	__u32 known, cap;
};

struct stack_filter *stack_filter__new(const char *pattern)
{
	struct stack_filter *f = calloc(1, sizeof(*f));

	if (f)
		f->pattern = pattern;
	return f;
}

void stack_filter__free(struct stack_filter *f)
{
	if (!f)
		return;
	free(f->wanted);
	free(f);
}

bool frame_matches(const char *pattern, enum frame_kind kind, const char *name, const char *file)
{
	const char *dot = strrchr(name, '.');

	if (kind == FRAME_PROCESS || kind == FRAME_THREAD)
		return false;
	return !fnmatch(pattern, name, 0) || (dot && !fnmatch(pattern, dot + 1, 0)) ||
	       (*file && !fnmatch(pattern, base_name(file), 0));
}

static bool matches(const struct stack_filter *f, const struct dict *dict, __u32 id)
{
	const struct profile_frame *frame = dict__frame_at(dict, id);

	return frame_matches(f->pattern, frame->kind, dict__text(dict, frame->name),
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
