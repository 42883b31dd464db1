/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greenlets.h - if greenlet is on the C stack of a sample: does that stack belong to the sample's
 * Python frames?
 *
 * From CPython 3.12 on greenlet unlinks the entry frames of a chain before it exchanges C stacks
 * (bpf/python/greenlet_switching.h), so a chain with entry frames belongs to the C stack. While it is unlinking them
 * some are missing, which the chain does not show; but then there are more evaluations on the C
 * stack than activations in the chain. 3.11 keeps the links between activations on the C stack, and
 * the kernel has compared them: each lies where its link says, if there is a native frame.
 */
#ifndef KRAIT_RECORD_SAMPLES_GREENLETS_H
#define KRAIT_RECORD_SAMPLES_GREENLETS_H

#include <stdbool.h>

#include "record/stack/join.h"

struct native;

/*
 * For a sample whose frames are a whole chain, walked to its end: the Python and native frames of s.
 * native: names in that process; has_owner: its frames are PY_FRAME_OWNER.
 */
enum join_chain greenlet_chain(const struct join_input *s, struct native *native, bool has_owner);

#endif /* KRAIT_RECORD_SAMPLES_GREENLETS_H */
