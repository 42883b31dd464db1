/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_walk_old.h - a fake interpreter of 3.8 to 3.12 in which calls can be made, and the
 * expected walk.
 */
#ifndef KRAIT_SUPPORT_WALK_OLD_H
#define KRAIT_SUPPORT_WALK_OLD_H

#include "support_walker.h"

enum { SELF = 0x7000, OTHER = 0x8000, NODES_MAX = 64 };

struct old_fake {
	struct fake_version version;
	struct fake *fake;
	__u64 interp_addr, tstate_addr;
	__u64 frame_addr, cframe_addr; /* the current ones */
	struct frame nodes[NODES_MAX]; /* the expected walk, root first */
	__u32 cnt;
	struct stack_walk_result result;
};

#define OFF(x) (&(x)->fake->offsets)
#define for_each_old(minor) for (unsigned minor = 8; minor <= 12; minor++)
#define for_each_cframe(minor) for (unsigned minor = 11; minor <= 12; minor++)

/* For cmocka: *state is a struct old_fake without an interpreter. */
int old_setup(void **state);
int old_teardown(void **state);

/* Makes a new interpreter of that version with one thread, SELF. */
void old_begin(struct old_fake *x, unsigned minor);
/* Makes a state of that thread, with its own C frame if the version has C frames. */
__u64 old_thread(struct old_fake *x, __u64 interp_addr, __u64 thread_id);

/* Calls from Python; from_c: through a new activation of the eval loop. */
void old_call(struct old_fake *x, bool from_c, __s32 instr_off);
/* The steps of a call: make the frame current; where it is; the expected result of a walk. */
void old_set_current(struct old_fake *x, __u64 addr);
void old_put_instr(struct old_fake *x, __u64 addr, __u64 code_addr, __s32 instr_off);
void old_expect(struct old_fake *x, __u64 frame_addr, __u64 code_addr, __s32 instr_off);

#endif /* KRAIT_SUPPORT_WALK_OLD_H */
