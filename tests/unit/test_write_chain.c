/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_write_chain.c - a chain that continues from the last one equals one made from scratch.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/dso/dso.h"
#include "capture/perfdata/write_chain.h"
#include "profile/dict.h"

#define NODES 400
#define STACKS 20000
#define KERNEL_ADDRESS 0xffffffff81000000ULL

struct fixture {
	struct dict *dict;
	struct dso *dso;
	unsigned seed;
	__u32 nodes[NODES];
};

static unsigned pick(struct fixture *f, unsigned below)
{
	return (unsigned)rand_r(&f->seed) % below;
}

/* Above kernel code there is only kernel code. */
static __u32 any_frame(struct fixture *f, bool kernel)
{
	static const enum frame_kind kinds[] = { FRAME_PYTHON, FRAME_PYTHON, FRAME_NATIVE,
						 FRAME_NATIVE, FRAME_KERNEL, FRAME_MARK };
	struct profile_frame frame = { .kind = kernel ? FRAME_KERNEL : kinds[pick(f, 6)],
				       .unit = -1 };
	char name[16];

	snprintf(name, sizeof(name), "f%u", pick(f, 20));
	frame.name = dict__string(f->dict, name);
	frame.file = dict__string(f->dict, frame.kind == FRAME_KERNEL ? "[ext4]" : "libx.so");
	if (frame.kind == FRAME_NATIVE)
		frame.address = 0x7f0000000000ULL + pick(f, 50);
	if (frame.kind == FRAME_KERNEL)
		frame.address = KERNEL_ADDRESS + pick(f, 50);
	return dict__frame(f->dict, &frame);
}

/* Two processes with a thread each, and anything above. */
static void grow(struct fixture *f)
{
	for (__u32 i = 0; i < NODES; i++) {
		enum frame_kind below;
		struct profile_frame frame = { .kind = FRAME_PROCESS,
					       .pid = 1 + (int)i,
					       .unit = -1 };
		__u32 parent = i < 2 ? 0 : f->nodes[i < 4 ? i - 2 : 2 + pick(f, i - 2)];

		/* Makes long paths, not only wide trees. */
		if (i > 4 && pick(f, 3))
			parent = f->nodes[i - 1];
		if (i >= 2 && i < 4)
			frame.kind = FRAME_THREAD;
		below = dict__frame_at(f->dict, dict__node_at(f->dict, parent)->frame)->kind;
		f->nodes[i] = dict__child(f->dict, parent,
					  i < 4 ? dict__frame(f->dict, &frame) :
						  any_frame(f, below == FRAME_KERNEL));
		assert_int_not_equal(f->nodes[i], 0);
	}
}

static void test_same_as_from_nothing(void **state)
{
	struct fixture f = { .dict = dict__new(profile_limits_default()),
			     .dso = dso__new(),
			     .seed = 7 };
	struct chain chain = { 0 }, whole = { 0 };

	assert_non_null(f.dict);
	assert_non_null(f.dso);
	grow(&f);
	for (int i = 0; i < STACKS; i++) {
		/* Often one near the last one. */
		__u32 at = pick(&f, NODES);
		__u32 node = f.nodes[i % 3 && at + 3 < NODES ? at + pick(&f, 3) : at];

		whole.node = whole.depth = 0;
		assert_int_equal(chain_build(&chain, f.dict, f.dso, NULL, node), 0);
		assert_int_equal(chain_build(&whole, f.dict, f.dso, NULL, node), 0);
		assert_int_equal(chain.cnt, whole.cnt);
		assert_memory_equal(chain.list, whole.list, whole.cnt * sizeof(*whole.list));
		assert_int_equal(chain.image, whole.image);
		assert_int_equal(chain.max_depth, whole.max_depth);
	}
	assert_int_equal(chain_name_cnt(&chain, f.dict), chain_name_cnt(&whole, f.dict));
	assert_int_not_equal(chain_name_cnt(&chain, f.dict), 0);
	chain_free(&chain);
	chain_free(&whole);
	dso__free(f.dso);
	dict__free(f.dict);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_from_nothing),
	};

	return cmocka_run_group_tests_name("write_chain", tests, NULL, NULL);
}
