/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greenlet_place.h - what the kernel side must know to follow the greenlets of one process
 * (bpf/python/greenlets.h).
 *
 * greenlet (2.0 and later) keeps a thread's current greenlet in a thread-local variable,
 * g_thread_state_global (greenlet.cpp), which has no symbol in a stripped module. The module's own
 * relocations say which number the dynamic linker has given to its block of such variables
 * (x86-64's usual form), or at which distance from the thread pointer it is (a descriptor, arm64's
 * form), and its program headers say how large that block is. The variable is the word in it that
 * points to { a main greenlet, the current one }, if the main greenlet's C++ object points back.
 *
 * So a thread must have used greenlet; until then nothing is proved. Supports glibc and musl.
 *
 * Must hold: at most GREENLET_PLACE_READS reads, whatever the process contains; only what was
 * verified is returned.
 */
#ifndef KRAIT_PROCESS_IDENTIFY_GREENLET_PLACE_H
#define KRAIT_PROCESS_IDENTIFY_GREENLET_PLACE_H

#include <linux/types.h>

#include "bpf/abi.h"

struct memory;

/*
 * Total number of reads: each number is tried in each thread, and each word of a block may point to
 * a greenlet.
 */
#define GREENLET_PLACE_READS (1U << 18)

/*
 * In a prober. dir: of /proc/PID; offsets, runtime_addr: its interpreter's. Returns 0 and
 * everything but start_ns; -ENOENT: greenlet is not loaded; -EAGAIN: no thread has a greenlet yet;
 * -EPROTONOSUPPORT: no layout could be proved within the reads; -errno.
 */
int greenlet_place_find(int dir, const struct memory *memory, const struct py_offsets *offsets,
			__u64 runtime_addr, struct greenlet_place *ret)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_IDENTIFY_GREENLET_PLACE_H */
