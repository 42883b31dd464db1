/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * row_views.c - each sample is a path; a view decides which rows the path has and at which of them
 * it ends.
 */
#include "cmd/top/row_table.h"

/* A name for something that the stack does not name: a container or a state. */
static void add_named(struct row_table *t, __u32 name)
{
	const struct row_key key = {
		.kind = FRAME_MARK, .name = name, .first_line = -1, .line = -1
	};

	row_table_add(t, row_table_row(t, &key), true);
}

static const struct profile_frame *frame_of(const struct row_table *t, __u32 node)
{
	return dict__frame_at(t->dict, dict__node_at(t->dict, node)->frame);
}

static void add_code(struct row_table *t, bool lines)
{
	for (__u32 i = 0; i < t->path.codes; i++) {
		__u32 *row = row_table_of_node(t, t->path.nodes[i]);

		if (row && !*row) {
			struct row_key key = row_key_of_code(frame_of(t, t->path.nodes[i]), lines);

			*row = row_table_row(t, &key);
		}
		row_table_add(t, row ? *row : 0, !i);
	}
}

static void add_task(struct row_table *t, __u32 frame)
{
	struct row_key key;

	if (!frame)
		return;
	key = row_key_of_task(dict__frame_at(t->dict, frame));
	row_table_add(t, row_table_row(t, &key), true);
}

/* A wrapper and the function i that it wraps share a row. */
static bool is_wrapped(const struct row_table *t, __u32 i, __u32 parent, const struct row_key *key)
{
	const struct profile_frame *f = frame_of(t, t->path.nodes[i]);

	return f->kind == FRAME_NATIVE && !f->wrapper && parent && i + 1 < t->path.cnt &&
	       frame_of(t, t->path.nodes[i + 1])->wrapper &&
	       row_key_is_same_function(&t->public.list[parent].key, key);
}

/* Goes from the root. A process is above its functions, unless only one process is shown. */
static void add_tree(struct row_table *t)
{
	__u32 parent = 0;

	for (__u32 i = t->path.cnt; i-- > 0;) {
		const struct profile_frame *f = frame_of(t, t->path.nodes[i]);
		__u32 *row = row_table_of_node(t, t->path.nodes[i]);
		struct row_key key;

		if (f->kind == FRAME_THREAD || (f->kind == FRAME_PROCESS && t->public.spec.pid))
			continue;
		if (row && !*row) {
			bool task = f->kind == FRAME_PROCESS;

			key = task ? row_key_of_task(f) : row_key_of_code(f, false);
			key.parent = parent;
			*row = is_wrapped(t, i, parent, &key) ? parent : row_table_row(t, &key);
		}
		parent = row ? *row : 0;
		row_table_add(t, parent, !i);
		if (!parent)
			return;
	}
}

static bool is_focus(const struct row_table *t, __u32 i)
{
	struct row_key key = row_key_of_code(frame_of(t, t->path.nodes[i]), false);

	return row_key_is_same_function(&key, &t->public.spec.focus);
}

/* Adds the callers of the focus, unless it calls itself. */
static void add_callers(struct row_table *t)
{
	for (__u32 i = 0; i + 1 < t->path.cnt; i++) {
		const struct profile_frame *f = frame_of(t, t->path.nodes[i + 1]);
		struct row_key key;

		if (i >= t->path.codes || !is_focus(t, i))
			continue;
		if (f->kind == FRAME_THREAD && t->path.process)
			f = dict__frame_at(t->dict, t->path.process);
		key = i + 1 < t->path.codes ? row_key_of_code(f, false) : row_key_of_task(f);
		row_table_add(t, row_table_row(t, &key), false);
	}
}

/* Adds what the focus calls; what it does itself becomes a row of its own. */
static void add_callees(struct row_table *t)
{
	for (__u32 i = 0; i < t->path.codes; i++) {
		struct row_key key;

		if (!is_focus(t, i))
			continue;
		key = row_key_of_code(frame_of(t, t->path.nodes[i ? i - 1 : 0]), false);
		row_table_add(t, row_table_row(t, &key), !i);
	}
}

static void add_source(struct row_table *t)
{
	for (__u32 i = 0; i < t->path.codes; i++) {
		struct row_key key = row_key_of_code(frame_of(t, t->path.nodes[i]), true);

		if (key.file != t->public.spec.focus.file || key.line <= 0)
			continue;
		/* Functions on the same line share a row. */
		key = (struct row_key){ .file = key.file, .line = key.line };
		row_table_add(t, row_table_row(t, &key), !i);
	}
}

/* The containers of ended processes are unknown (trim.h). */
static __u32 container_of_path(const struct row_table *t)
{
	if (!t->path.pid && t->path.process)
		return dict__frame_at(t->dict, t->path.process)->name;
	return t->group ? t->group(t->ctx, t->path.pid) : 0;
}

void row_table_add_path(struct row_table *t, enum state state)
{
	switch (t->public.spec.view) {
	case ROWS_FUNCTIONS:
	case ROWS_LINES:
		add_code(t, t->public.spec.view == ROWS_LINES);
		break;
	case ROWS_PROCESSES:
		add_task(t, t->path.process);
		break;
	case ROWS_THREADS:
		add_task(t, t->path.thread);
		break;
	case ROWS_CONTAINERS:
		add_named(t, container_of_path(t));
		break;
	case ROWS_STATES:
		add_named(t, dict__string(t->dict, state_name(state)));
		break;
	case ROWS_TREE:
		add_tree(t);
		break;
	case ROWS_CALLERS:
		add_callers(t);
		break;
	case ROWS_CALLEES:
		add_callees(t);
		break;
	case ROWS_SOURCE:
		add_source(t);
		break;
	}
}
