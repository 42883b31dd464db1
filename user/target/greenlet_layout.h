/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greenlet_layout.h - what a greenlet is, in memory: read with proof, or not at all.
 *
 * greenlet publishes nothing. Three layouts are known (src/greenlet/: greenlet.h, TGreenlet.hpp, TUserGreenlet.cpp,
 * TMainGreenlet.cpp, TThreadState.hpp; compared with the debug information of the wheels of 1.1.3 to 3.5.6 for 3.8 to 3.15):
 *  - 1.x: all is in the object. At 16: stack_start, stack_stop, stack_copy, stack_saved, stack_prev, parent, run_info,
 *    top_frame.
 *  - 2.0 to 3.0: the object leads to a C++ one: table of functions; state of exceptions (40 bytes, 24 from 3.11 on); two
 *    pointers; the same five of the stack; context; top_frame; what depends on the version of Python. At the end its own
 *    object, the main greenlet, the function to run, and the parent; of a main greenlet its own object and the state of
 *    its thread.
 *  - 3.1 and later: its own object is behind the table of functions, too, and at the end that of a main greenlet alone.
 *
 * Each is proved by its data: the C++ object leads back to the greenlet; a main greenlet's thread state leads back to
 * it, and tells where the end begins; parents are greenlets; the frame of one that is suspended is a frame object, whose frame
 * leads back to it; the bounds of its stack are in order. What does not fit is -ENOTSUP, and nothing of it is used.
 *
 * Must hold: bounded reads, whatever the memory says.
 */
#ifndef KRAIT_TARGET_GREENLET_LAYOUT_H
#define KRAIT_TARGET_GREENLET_LAYOUT_H

#include <linux/types.h>
#include <stdbool.h>

#include "abi.h"

struct memory;

/* Types that were looked at: a place for each. */
#define GREENLET_TYPES 1024

struct greenlet_layout {
	const struct memory *memory; /* borrowed, with offsets */
	const struct py_offsets *offsets;
	__u64 type_addr; /* of greenlet.greenlet */
	__u64 size; /* of such an object */
	__u32 end; /* where the end of a C++ object begins; 0 not known */
	bool one; /* layout 1.x */
	struct {
		__u64 addr;
		bool is_greenlet;
	} types[GREENLET_TYPES];
};

enum greenlet_state {
	GREENLET_NEW, /* it has not been switched to yet */
	GREENLET_RUNS,
	GREENLET_SUSPENDED,
	GREENLET_DEAD,
};

struct greenlet {
	__u64 addr, type_addr;
	__u64 parent_addr; /* 0 none */
	enum greenlet_state state;
	bool is_main, has_thread; /* the first one of its thread; which still lives */
	__u64 stack_addr; /* a place in its thread's stack; 0 not known */
	/* Of a suspended one. */
	__u64 frame_addr; /* its innermost one */
	__u64 saved_addr, saved_size,
		copy_addr; /* so much of its stack is not there, but at copy_addr */
};

/*
 * Looks for the type in [start, end), data of greenlet's module, of which [module_start, module_end) is mapped. 0; -ENOENT
 * it is not there; -ENOTSUP it is, and is none that is known.
 */
int greenlet_layout_find(struct greenlet_layout *l, __u64 start, __u64 end, __u64 module_start,
			 __u64 module_end) __attribute__((warn_unused_result, nonnull));

/* Is that type greenlet.greenlet, or does it inherit from it? */
bool greenlet_layout_is_type(struct greenlet_layout *l, __u64 type_addr) __attribute__((nonnull));
/* What the type is called, without its module, at most size - 1 bytes of it. */
void greenlet_layout_type_name(const struct greenlet_layout *l, __u64 type_addr, char *ret,
			       __u32 size) __attribute__((nonnull));

/* Of a main greenlet: learns from it where the end of a C++ object begins. -ENOTSUP: main greenlets differ. */
int greenlet_layout_learn(struct greenlet_layout *l, __u64 addr)
	__attribute__((warn_unused_result, nonnull));

/* 0; -ENOTSUP it does not fit; -EFAULT it cannot be read. */
int greenlet_layout_read(struct greenlet_layout *l, __u64 addr, struct greenlet *ret)
	__attribute__((warn_unused_result, nonnull));

/*
 * What the kernel side must know of the C++ objects, of a main greenlet that was learned from, whose thread state is at
 * state_addr. -ENOTSUP: that is not so, or all is in the greenlet itself (1.x).
 */
int greenlet_layout_place(const struct greenlet_layout *l, __u64 main_addr, __u64 state_addr,
			  struct greenlet_place *ret) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_TARGET_GREENLET_LAYOUT_H */
