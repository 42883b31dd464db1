/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_anchor.h - the one write: eight bytes of a thread state, in a prober.
 *
 * Must hold: nothing is written unless the program image is the one that was identified (the
 * descriptor guarantees it), its credentials have not changed, the thread state still belongs to
 * the same thread and interpreter, and the bytes are in a private writable mapping: the descriptor
 * would write through read-only pages.
 */
#ifndef KRAIT_TARGET_PROBE_ANCHOR_H
#define KRAIT_TARGET_PROBE_ANCHOR_H

#include <stdbool.h>

struct probe_anchor;
struct probe_anchor_state;

/*
 * Reads the thread state through mem, which was opened when the process was identified, and writes
 * if requested. dir: of the same process. Returns 0; -EBUSY: another's value is there (*ret is
 * filled); and
 *  -ESTALE  the thread state belongs to another thread by now
 *  -EPERM   it may not be written: its credentials have changed, or that memory is not private and
 *  writable
 *  -ESRCH, -EFAULT  gone
 */
int probe_anchor_access(const struct probe_anchor *a, int dir, int mem, bool write,
			struct probe_anchor_state *ret)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_TARGET_PROBE_ANCHOR_H */
