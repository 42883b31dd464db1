/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_timed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cmd/common/formats.h"
#include "support_profile.h"

#define PERIOD_NS 1003009

static __u32 next_random(__u64 *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (__u32)(*seed >> 33);
}

void add_random_samples(struct profile *p, __u64 cnt)
{
	const __u32 nodes = dict__node_cnt(p->dict);
	__u64 seed = 7;

	for (__u64 have = sample_cnt(p); have < cnt; have++) {
		__u32 node;

		do
			node = 1 + next_random(&seed) % nodes;
		while (dict__frame_at(p->dict, dict__node_at(p->dict, node)->frame)->kind !=
		       FRAME_PYTHON);
		add_samples(p, node, 1);
	}
}

/* Of the process and the thread nearest to the root; 0: none. */
struct owner {
	int pid, tid;
};

/* Returns each node's owner; a node's parent comes before it. */
static struct owner *find_owners(const struct profile *p)
{
	const __u32 cnt = dict__node_cnt(p->dict);
	struct owner *owners = calloc((size_t)cnt + 1, sizeof(*owners));

	assert_non_null(owners);
	for (__u32 n = 1; n <= cnt; n++) {
		const struct profile_frame *f =
			dict__frame_at(p->dict, dict__node_at(p->dict, n)->frame);
		struct owner *o = &owners[n];

		*o = owners[dict__node_at(p->dict, n)->parent];
		if (f->kind == FRAME_THREAD && !o->tid)
			o->tid = f->tid;
		if (f->kind == FRAME_PROCESS && !o->pid)
			o->pid = f->pid;
	}
	return owners;
}

static __u32 *shuffled_nodes(const struct profile *p, __u64 *ret_cnt)
{
	__u64 cnt = 0, seed = 5;
	__u32 *list = calloc(sample_cnt(p) + 1, sizeof(*list));

	assert_non_null(list);
	for (__u32 n = 0; n <= dict__node_cnt(p->dict); n++) {
		for (__u64 k = counts__at(profile__counts(p, 0), n).samples; k; k--)
			list[cnt++] = n;
	}
	for (__u64 i = cnt; i > 1; i--) {
		__u64 other = next_random(&seed) % i;
		__u32 node = list[i - 1];

		list[i - 1] = list[other];
		list[other] = node;
	}
	*ret_cnt = cnt;
	return list;
}

char *emit_timed(const char *format, const struct profile *p, const struct emit_options *options)
{
	const struct emitter_ops *ops = format_by_name(format);
	struct profile_sample s = { .period = PERIOD_NS, .comm = "python3" };
	__u64 cnt, seed = 3;
	__u32 *nodes = shuffled_nodes(p, &cnt);
	struct owner *owners = find_owners(p);
	struct emitter *e;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(ops->open(&e, out, options), 0);
	for (__u64 i = 0; i < cnt; i++) {
		s.node = nodes[i];
		s.pid = owners[s.node].pid ? owners[s.node].pid : 1;
		s.tid = owners[s.node].tid ? owners[s.node].tid : 1;
		/* As many threads (at most 16) as tick at the same time. */
		s.time_ns = 1000000000ULL + i / 16 * PERIOD_NS + next_random(&seed) % 100000;
		assert_int_equal(ops->sample(e, p, &s), 0);
	}
	assert_int_equal(ops->finish(e, p, 0), 0);
	ops->free(e);
	assert_int_equal(fclose(out), 0);
	free(owners);
	free(nodes);
	return text;
}
