/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_anchor_writer.h - the writes of user/kernel/maps/anchors.c, one store at a time and
 * arbitrarily late, into a model of the interpreter.
 *
 * Excludes one case that user space cannot rule out: the thread state is freed in the few
 * microseconds between the identity check and the write. (It writes only to threads older than a
 * second.) Without that check it can happen at any time, and is counted.
 */
#ifndef KRAIT_TESTS_SUPPORT_ANCHOR_WRITER_H
#define KRAIT_TESTS_SUPPORT_ANCHOR_WRITER_H

#include "support_anchor_model.h"

enum writer_mutant {
	WRITER_SOUND,
	WRITER_NO_IDENTITY, /* does not check again whose thread state it is */
	WRITER_NO_ZERO, /* leaves the old epoch in place while it writes */
	WRITER_EPOCH_FIRST, /* sets the new epoch before writing */
};

struct writer {
	enum writer_mutant mutant;
	struct anchor *anchor;
	bool pending; /* decided; the first step begins it */
	int stage;
	__u64 epoch; /* last used */
	__u64 state_addr, interp_addr, thread_id; /* from the sample */
	__u32 addr_cnt;
	__u64 addrs[KRAIT_ANCHOR_FRAMES];
	__u64 writes, stale, strays; /* strays: writes into another thread's state */
	__u64 found_start_ns, found_seq;
};

/* Does one step of the pending write to t. */
void writer_step(struct writer *w, struct model *m);
void writer_forget(struct writer *w);

#endif /* KRAIT_TESTS_SUPPORT_ANCHOR_WRITER_H */
