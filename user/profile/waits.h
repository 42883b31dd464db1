/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waits.h - who waits: counts in which time off the CPU belongs to a function that a reader knows.
 *
 * In a recorded stack of a wait the leaf is a mark, what was waited for ("[lock]", "[io: read pipe]"), and above it
 * lies how the kernel does that: ten functions, the same for every wait. So a table by function would show the
 * marks, and a tree the kernel's functions, and neither the function that waits.
 *
 * Must hold: sums stay the same; stacks that do not end in such a mark do not change.
 */
#ifndef KRAIT_PROFILE_WAITS_H
#define KRAIT_PROFILE_WAITS_H

#include "profile/counts.h"

/* Is it what a thread waited for? text: the frame's name. */
bool waits_is_mark(enum frame_kind kind, const char *text);

/* Does any stack with samples end in one? */
bool waits_are_in(const struct counts *c);

/*
 * New counts, with windows and accounts of the old ones, in which a wait counts for the innermost Python
 * function; without any for the innermost native one, or for the mark that stands for the whole stack. Its label
 * is the mark of what it waits for. Memory, too: what C functions touch is their caller's. NULL: out of memory.
 */
struct counts *waits__new_of_functions(const struct counts *c);
/* New counts in which the mark follows the function that called the kernel. NULL: out of memory. */
struct counts *waits__new_without_kernel(const struct counts *c);
/* The node that has the samples of this one there. */
__u32 waits_without_kernel(struct dict *dict, __u32 node);
/*
 * New counts in which C and the kernel count for the Python function that called them, as if the capture had been read
 * with --no-native and --no-kernel; waits that are a stack's last mark stay there. NULL: out of memory.
 */
struct counts *waits__new_of_python(const struct counts *c);

#endif /* KRAIT_PROFILE_WAITS_H */
