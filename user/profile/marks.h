/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * marks.h - all texts that krait puts in a stack where code is missing, in brackets.
 *
 * A recording, a capture that is read back and the page show the same text for the same thing.
 * Existing texts must not change, because other files contain them (a capture's DSO, folded
 * stacks); new ones may be added.
 */
#ifndef KRAIT_PROFILE_MARKS_H
#define KRAIT_PROFILE_MARKS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi.h"

/* Whole stacks. */
#define MARK_NO_PYTHON "[no Python frame]"
#define MARK_NO_STACK "[no room for the stack]"
/* CPU time that the kernel has charged to the thread, but that no tick found. */
#define MARK_NOT_SAMPLED "[not sampled]"
/* The kernel ran krait's own BPF programs in this thread. */
#define MARK_OWN "[krait]"
/* Garbage collection: frames below ran before it, frames above run because of it. */
#define MARK_GC "[GC]"
/*
 * Missing native frames: just here, or from here to the root; because there are more than krait
 * follows; here and anywhere towards the root.
 */
#define MARK_NATIVE_TRUNCATED "[truncated]"
#define MARK_NATIVE_DEPTH "[truncated: native depth]"
#define MARK_NATIVE_UNKNOWN "[unknown native frames]"
/* About asyncio tasks: who awaits whom, and their frames. */
#define MARK_TASKS_TORN "[truncated: tasks that were changing]"
#define MARK_TASKS_LIMIT "[truncated: too many tasks]"
#define MARK_GREENLETS_TORN "[truncated: greenlets that were changing]"
#define MARK_GREENLETS_LIMIT "[truncated: too many frames of greenlets]"
#define MARK_GREENLET_FRAMES "[truncated: frames of a greenlet]"
#define MARK_GREENLETS_LATE "[greenlets not known yet]"
#define MARK_GREENLETS_UNKNOWN "[parents of greenlets not known]"
#define MARK_TASKS_LATE "[tasks not known yet]"
#define MARK_TASKS_CYCLE "[tasks that await each other]"
#define MARK_TASK_FOREIGN "[task without a coroutine of Python]"
#define MARK_TASK_FRAMES "[truncated: frames of a coroutine]"
/* Python frames whose names were not wanted: their owner had cost too much (python/code/name_share.h). */
#define MARK_LEFT_OUT "[name left out]"
/* About memory whose last fault nobody has seen (record/samples/residence.h); below a stack: it is not in memory now. */
#define MARK_MEMORY_BEFORE "[resident before]"
#define MARK_MEMORY_PARENT "[from its parent]"
#define MARK_MEMORY_UNSEEN "[no fault seen]"
#define MARK_MEMORY_FILES "[mapped files]"
#define MARK_MEMORY_SWAPPED "[swapped out]"
/* An address outside of all mappings. */
#define MARK_UNKNOWN "[unknown]"
/* A Python place whose function found no room in the DSO. */
#define MARK_NO_FUNCTION "[no room for the function]"
/* A Python place whose DSO is missing: its offset there. */
#define MARK_PYTHON_FORMAT "[python 0x%llx]"

/* On the page, in place of subtrees that it does not contain. */
#define MARK_SMALL "[small stacks, not kept in this page]"

/* In place of a name that is empty; that is unreadable; of kernel code without a symbol. */
#define NAME_EMPTY "[unnamed]"
#define NAME_UNREADABLE "<unknown function>"
#define NAME_KERNEL "[kernel]"
/* Follows the name of an inlined function, as in perf. */
#define NAME_INLINED " (inlined)"
/* An inlined function without a name. */
#define NAME_INLINE_UNKNOWN "[unknown]"

/* The longest text of mark_truncated(), with its NUL. */
#define MARK_SIZE 64

/* The mark for a sample without Python frames for that reason; NULL if it has some. */
const char *mark_of(enum reason reason);
/* "[truncated: depth]": the mark at the root of a stack that was cut. */
void mark_truncated(char text[MARK_SIZE], enum reason reason);
/*
 * "[the first of 3 tasks that await it]", larger numbers rounded: if several await it, the stack
 * continues with one.
 */
void mark_waiters(char text[MARK_SIZE], __u32 cnt);
/*
 * Its meaning, in a sentence without the full stop; never NULL. The page and report use the same
 * words; docs/READING.md explains more.
 */
const char *mark_meaning(const char *text);
/* Does it say that native frames are missing? Then it makes no sense in a stack without any. */
bool mark_is_native(const char *text);
/*
 * In folded text: is that frame, of len bytes, a mark? perf writes "[unknown]" for a function
 * without a name.
 */
bool mark_is(const char *frame, size_t len);

#endif /* KRAIT_PROFILE_MARKS_H */
