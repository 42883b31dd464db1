/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greenlet_layout.h - the memory layout of greenlets: proved from the data, or not used.
 *
 * greenlet publishes nothing. Three layouts are known (src/greenlet/: greenlet.h, TGreenlet.hpp,
 * TUserGreenlet.cpp, TMainGreenlet.cpp, TThreadState.hpp; compared with the debug information of
 * the wheels of 1.1.3 to 3.5.6 for 3.8 to 3.15):
 *  - 1.x: everything is in the object. At 16: stack_start, stack_stop, stack_copy, stack_saved,
 *    stack_prev, parent, run_info, top_frame.
 *  - 2.0 to 3.0: the object points to a C++ one: table of functions; state of exceptions (40 bytes,
 *    24 from 3.11 on); two pointers; the same five stack members; context; top_frame; members that
 *    depend on the version of Python. At the end come its own object, the main greenlet, the
 *    function to run, and the parent; in a main greenlet, its own object and the state of its
 *    thread.
 *  - 3.1 and later: its own object also follows the table of functions, and only a main greenlet
 *    has it at the end.
 *
 * Each layout is proved by its data: the C++ object points back to the greenlet; a main greenlet's
 * thread state points back to it, and shows where the last part begins; parents are greenlets; a
 * suspended greenlet's frame is a frame object, whose frame points back to it; the bounds of its
 * stack are in order. If anything does not fit the result is -ENOTSUP, and nothing is used.
 *
 * Must hold: bounded reads, whatever the memory contains.
 */
#ifndef KRAIT_PYTHON_LAYOUT_GREENLET_LAYOUT_H
#define KRAIT_PYTHON_LAYOUT_GREENLET_LAYOUT_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"

struct memory;

/* A cache of types that were examined. */
#define GREENLET_TYPES 1024

struct greenlet_layout {
	const struct memory *memory; /* borrowed, with offsets */
	const struct py_offsets *offsets;
	__u64 type_addr; /* the type greenlet.greenlet */
	__u64 size; /* of such an object */
	__u32 end; /* where the last part of a C++ object begins; 0 unknown */
	bool one; /* layout 1.x */
	struct {
		__u64 addr;
		bool is_greenlet;
	} types[GREENLET_TYPES];
};

enum greenlet_state {
	GREENLET_NEW, /* not switched to yet */
	GREENLET_RUNS,
	GREENLET_SUSPENDED,
	GREENLET_DEAD,
};

struct greenlet {
	__u64 addr, type_addr;
	__u64 parent_addr; /* 0: none */
	enum greenlet_state state;
	/* the first greenlet of its thread; whether that thread still exists */
	bool is_main, has_thread;
	__u64 stack_addr; /* an address in its thread's stack; 0 unknown */
	/* If it is suspended: */
	__u64 frame_addr; /* innermost frame */
	__u64 saved_addr, saved_size,
		copy_addr; /* this much of its stack has been moved to copy_addr */
};

/*
 * Searches [start, end), data of greenlet's module, of which [module_start, module_end) is mapped,
 * for the type. Returns 0; -ENOENT: not found; -ENOTSUP: found, but in no known layout.
 */
int greenlet_layout_find(struct greenlet_layout *l, __u64 start, __u64 end, __u64 module_start,
			 __u64 module_end) __attribute__((warn_unused_result, nonnull));

/* Is that type greenlet.greenlet, or derived from it? */
bool greenlet_layout_is_type(struct greenlet_layout *l, __u64 type_addr) __attribute__((nonnull));
/* The type's name, without its module, at most size - 1 bytes. */
void greenlet_layout_type_name(const struct greenlet_layout *l, __u64 type_addr, char *ret,
			       __u32 size) __attribute__((nonnull));

/*
 * From a main greenlet: learns where the last part of a C++ object begins. -ENOTSUP: main greenlets
 * differ.
 */
int greenlet_layout_learn(struct greenlet_layout *l, __u64 addr)
	__attribute__((warn_unused_result, nonnull));

/* Returns 0; -ENOTSUP: it does not fit; -EFAULT: it cannot be read. */
int greenlet_layout_read(struct greenlet_layout *l, __u64 addr, struct greenlet *ret)
	__attribute__((warn_unused_result, nonnull));

/*
 * What the kernel side must know about the C++ objects, from a main greenlet that was learned from,
 * whose thread state is at state_addr. -ENOTSUP: that is not the case, or everything is in the
 * greenlet itself (1.x).
 */
int greenlet_layout_place(const struct greenlet_layout *l, __u64 main_addr, __u64 state_addr,
			  struct greenlet_place *ret) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PYTHON_LAYOUT_GREENLET_LAYOUT_H */
