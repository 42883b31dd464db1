/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_anchor_writer.h - the writes of user/sampler/anchors.c, one store at a time, as late as you
 * like, into a model of the interpreter.
 *
 * One thing that user space cannot rule out is left out: that the thread state is freed in the few
 * microseconds between the look at its identity and the write. (It writes only to threads older than
 * a second.) Without that look it happens at any time, and is counted.
 */
#ifndef KRAIT_TESTS_SUPPORT_ANCHOR_WRITER_H
#define KRAIT_TESTS_SUPPORT_ANCHOR_WRITER_H

#include "support_anchor_model.h"

enum writer_mutant {
	WRITER_SOUND,
	WRITER_NO_IDENTITY, /* does not look again whose thread state it is */
	WRITER_NO_ZERO, /* leaves the old epoch in place while it writes */
	WRITER_EPOCH_FIRST, /* sets the new epoch before it writes */
};

struct writer {
	enum writer_mutant mutant;
	struct anchor *anchor;
	bool pending; /* decided; begins with the first step */
	int stage;
	__u64 epoch; /* used last */
	__u64 state_addr, interp_addr, thread_id; /* as the sample said */
	__u32 addr_cnt;
	__u64 addrs[KRAIT_ANCHOR_FRAMES];
	__u64 writes, stale, strays; /* strays: into the thread state of somebody else */
	__u64 found_start_ns, found_seq;
};

/* One step of the pending write to t. */
void writer_step(struct writer *w, struct model *m);
void writer_forget(struct writer *w);

#endif /* KRAIT_TESTS_SUPPORT_ANCHOR_WRITER_H */
