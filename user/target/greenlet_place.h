/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greenlet_place.h - what the kernel side must know to follow the greenlets of one process (bpf/greenlets.h).
 *
 * greenlet (2.0 and later) keeps what a thread runs in a variable of that thread, g_thread_state_global (greenlet.cpp), which no
 * symbol of a stripped module names. The module's own relocations say which number the dynamic linker has given to its block
 * of such variables (R_X86_64_DTPMOD64), and its program headers how large that is. The variable is the word in it that leads
 * to { a main greenlet, the current one }, where the main greenlet's C++ object leads back.
 *
 * So a thread must have asked for its greenlet; until then nothing is proved. glibc and musl; x86-64: on arm64 there are
 * descriptors instead of numbers.
 *
 * Must hold: at most GREENLET_PLACE_READS reads, whatever the process says; what was not seen to be so is not told.
 */
#ifndef KRAIT_TARGET_GREENLET_PLACE_H
#define KRAIT_TARGET_GREENLET_PLACE_H

#include <linux/types.h>

#include "abi.h"

struct memory;

/* Of all that is looked at: each number is tried in each thread, and each word of a block may lead to a greenlet. */
#define GREENLET_PLACE_READS (1U << 18)

/*
 * In a prober. dir: of /proc/PID; offsets, runtime_addr: its interpreter's. 0 and all but start_ns; -ENOENT: greenlet is not
 * loaded; -EAGAIN: no thread has a greenlet yet; -EPROTONOSUPPORT: its layout is none that can be proved
 * within the reads; -errno.
 */
int greenlet_place_find(int dir, const struct memory *memory, const struct py_offsets *offsets,
			__u64 runtime_addr, struct greenlet_place *ret)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_TARGET_GREENLET_PLACE_H */
