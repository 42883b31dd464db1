/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/perfdata/write_chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/dso/dso.h"
#include "capture/perfdata/format.h"
#include "capture/perfdata/perf_writer.h"
#include "process/space/modules.h"
#include "process/space/space.h"
#include "profile/dict.h"
#include "base/text/log.h"

/*
 * A node on the path from the root to the leaf, and the number of addresses from there to the root,
 * including its own.
 */
struct chain_step {
	__u32 node, to_root;
};

void chain_free(struct chain *c)
{
	free(c->room);
	free(c->leaves);
	free(c->path);
	kernel_names_free(&c->kernel_names);
	native_names_free(&c->native_names);
	*c = (struct chain){ 0 };
}

__u32 chain_name_cnt(const struct chain *c, const struct dict *dict)
{
	return c->kernel_names.cnt + c->native_names.cnt + dict__named_cnt(dict);
}

/* Growing discards the current chain. */
static int reserve(struct chain *c, __u32 depth)
{
	__u32 cap = depth * 2;

	if (depth <= c->cap)
		return 0;
	c->cap = c->cnt = 0;
	free(c->room);
	free(c->leaves);
	free(c->path);
	c->room = calloc(cap, sizeof(*c->room));
	c->leaves = calloc(cap, sizeof(*c->leaves));
	c->path = calloc(cap, sizeof(*c->path));
	if (!c->room || !c->leaves || !c->path)
		return -ENOMEM;
	c->cap = cap;
	return 0;
}

/*
 * A marker goes wherever addresses change between kernel and user mode, from the leaf on. That
 * includes a change into the kernel after the leaf: what a thread waited for is a leaf that is not
 * in the kernel.
 */
static void put_address(struct chain *c, __u64 address, bool kernel)
{
	if (c->cnt + 2 > PERF_WRITER_MAX_CHAIN)
		return;
	if (!c->cnt || kernel == c->in_user)
		c->leaves[c->cnt++] = (__u64)(kernel ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER);
	c->in_user = !kernel;
	c->has_kernel = c->has_kernel || kernel;
	c->leaves[c->cnt++] = address;
}

/*
 * The address to look up: a caller has a return address, but code that was interrupted does not,
 * neither in the kernel nor on entry to it.
 */
static __u64 place_of(const struct chain *c, const struct profile_frame *f)
{
	bool exact = !c->cnt || (f->kind == FRAME_NATIVE && !c->in_user);

	return f->address - !exact;
}

/* Without memory the name is lost. */
static void keep_name(struct chain *c, const struct dict *dict, const struct profile_frame *f)
{
	const char *module = dict__text(dict, f->file);

	if (*module &&
	    kernel_names_add(&c->kernel_names, place_of(c, f), dict__text(dict, f->name), module))
		log_debug("perf.data", "a name of the kernel found no memory");
}

/*
 * The same for native code. Code without a symbol is named after its file, which readers do
 * themselves.
 */
static void keep_native_name(struct chain *c, const struct dict *dict, const struct space *space,
			     __u32 frame)
{
	const struct profile_frame *f = dict__frame_at(dict, frame);
	__u64 address = place_of(c, f);
	const struct mapping *m = space ? space__find(space, address) : NULL;
	const char *name = dict__text(dict, f->name);

	if (m && (f->place || *name != '[') &&
	    native_names_add(&c->native_names, module__name(m->module),
			     address - m->start + m->offset, f->place ? NULL : name, frame))
		log_debug("perf.data", "a name of native code found no memory");
}

static void put_frame(struct chain *c, const struct dict *dict, struct dso *dso,
		      const struct space *space, __u32 frame)
{
	const struct profile_frame *f = dict__frame_at(dict, frame);

	if (f->kind == FRAME_KERNEL && f->address)
		keep_name(c, dict, f);
	if (f->kind == FRAME_NATIVE && f->address)
		keep_native_name(c, dict, space, frame);
	if (f->kind == FRAME_PROCESS)
		c->image = frame;
	else if (f->address)
		put_address(c, f->address, f->kind == FRAME_KERNEL);
	else if (f->kind != FRAME_THREAD)
		put_address(c, dso__address(dso, dict, frame), false);
}

/*
 * Do the addresses from that node to the root stand at the end of the last chain exactly as in this
 * one, that is, also below a caller in user mode? cnt: length of the last chain.
 */
static bool is_shared(const struct chain *c, __u32 cnt, __u32 node, __u32 depth)
{
	const struct chain_step *step = &c->path[depth];

	return c->in_user && depth < c->depth && step->node == node && step->to_root < cnt &&
	       c->list[cnt - step->to_root - 1] < (__u64)PERF_CONTEXT_MAX;
}

/* Puts what is new before the part shared with the last chain. */
static void put_leaves(struct chain *c, __u32 node, __u32 depth, __u32 shared_depth)
{
	__u32 shared = shared_depth ? c->path[shared_depth].to_root : 0, new = c->cnt;

	c->cnt += shared;
	c->list = c->room + c->cap - c->cnt;
	memcpy(c->list, c->leaves, new * sizeof(*c->list));
	for (__u32 d = shared_depth + 1; d <= depth; d++)
		c->path[d].to_root = c->cnt - c->path[d].to_root;
	c->node = node;
	c->depth = depth;
}

int chain_build(struct chain *c, const struct dict *dict, struct dso *dso,
		const struct space *space, __u32 node)
{
	__u32 depth = dict__node_at(dict, node)->depth, at = node, d = depth, cnt, image;
	int err = reserve(c, depth + 4);

	if (err || (c->cnt && c->node == node))
		return err;
	cnt = c->cnt;
	image = c->image;
	c->cnt = 0;
	c->image = 0;
	c->in_user = false;
	for (; at && !is_shared(c, cnt, at, d); d--) {
		const struct profile_node *n = dict__node_at(dict, at);
		__u32 before = c->cnt;

		put_frame(c, dict, dso, space, n->frame);
		/* Until the total is known: counts those on the leaf's side. */
		c->path[d] = (struct chain_step){ at, c->cnt > before ? c->cnt - 1 : before };
		at = n->parent;
	}
	if (at)
		c->image = image;
	/* Not even a mark: this stack found no room in the profile. */
	if (!c->cnt)
		put_address(c, dso__address(dso, dict, 0), false);
	put_leaves(c, node, depth, d);
	if (c->cnt - 1 > c->max_depth)
		c->max_depth = c->cnt - 1;
	return 0;
}
