/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/row_path.h"

#include "base/data/vec.h"

int row_path_of(struct row_path *p, const struct dict *d, __u32 node)
{
	__u32 depth = node ? dict__node_at(d, node)->depth : 0;

	p->cnt = p->codes = p->process = p->thread = 0;
	p->pid = p->tid = 0;
	if (vec_reserve(p->nodes, p->cap, depth + 1))
		return -ENOMEM;
	for (; node; node = dict__node_at(d, node)->parent) {
		__u32 frame = dict__node_at(d, node)->frame;
		const struct profile_frame *f = dict__frame_at(d, frame);

		p->nodes[p->cnt++] = node;
		if (f->kind == FRAME_THREAD) {
			p->thread = frame;
			p->tid = f->tid;
		} else if (f->kind == FRAME_PROCESS) {
			p->process = frame;
			p->pid = f->pid;
		} else {
			p->codes = p->cnt;
		}
	}
	return 0;
}

struct row_key row_key_of_code(const struct profile_frame *f, bool lines)
{
	bool native = lines && f->source && f->line > 0;

	return (struct row_key){
		.kind = f->kind,
		.name = f->name,
		.file = native ? f->source : f->file,
		.first_line = f->first_line > 0 ? f->first_line : -1,
		.line = lines && f->line > 0 && (native || !f->source) ? f->line : -1,
	};
}

struct row_key row_key_of_task(const struct profile_frame *f)
{
	return (struct row_key){
		.kind = f->kind,
		.name = f->name,
		.first_line = -1,
		.line = -1,
		.pid = f->pid,
		.tid = f->kind == FRAME_THREAD ? f->tid : 0,
	};
}

bool row_path_is_of(const struct row_path *p, const struct rows_spec *spec, rows_group_fn group,
		    void *ctx)
{
	if ((spec->pid && p->pid != spec->pid) || (spec->tid && p->tid != spec->tid))
		return false;
	return !spec->group || (group && group(ctx, p->pid) == spec->group);
}

bool row_key_is_same_function(const struct row_key *a, const struct row_key *b)
{
	return a->kind == b->kind && a->name == b->name && a->file == b->file &&
	       a->first_line == b->first_line;
}
