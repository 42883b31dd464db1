/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * marks.h - what krait says in a stack where code is missing: all texts in brackets, once.
 *
 * A recording, a capture that is read back and the page show the same text for the same thing. A text
 * that other files have stored (a capture's DSO, folded stacks) can only be added to.
 */
#ifndef KRAIT_PROFILE_MARKS_H
#define KRAIT_PROFILE_MARKS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "abi.h"

/* Whole stacks. */
#define MARK_NO_PYTHON "[no Python frame]"
#define MARK_NO_STACK "[no room for the stack]"
/* CPU time that the kernel has charged to the thread, and no tick found. */
#define MARK_NOT_SAMPLED "[not sampled]"
/* Garbage is being collected: what is below ran before, what is above runs because of it. */
#define MARK_GC "[GC]"
/* Native frames that are missing: here; here and anywhere towards the root. */
#define MARK_NATIVE_TRUNCATED "[truncated]"
#define MARK_NATIVE_UNKNOWN "[unknown native frames]"
/* Of asyncio tasks: what they await each other, and their frames. */
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
/* An address that lies in nothing. */
#define MARK_UNKNOWN "[unknown]"
/* A place in Python whose function the DSO had no room for. */
#define MARK_NO_FUNCTION "[no room for the function]"
/* A place in Python whose DSO is missing: by its offset there. */
#define MARK_PYTHON_FORMAT "[python 0x%llx]"

/* On the page, in place of subtrees that it does not have. */
#define MARK_SMALL "[small stacks, not kept in this page]"

/* In place of a name that is empty; that nobody can read; of the kernel's code without a symbol. */
#define NAME_EMPTY "[unnamed]"
#define NAME_UNREADABLE "<unknown function>"
#define NAME_KERNEL "[kernel]"
/* Behind the name of a function that has no code of its own there, as in perf. */
#define NAME_INLINED " (inlined)"
/* Of one that nobody names. */
#define NAME_INLINE_UNKNOWN "[unknown]"

/* The longest text that mark_truncated() makes, with its end. */
#define MARK_SIZE 64

/* What stands for a sample that has no Python frames for that reason; NULL where it has some. */
const char *mark_of(enum reason reason);
/* "[truncated: depth]": what lies at the root of a stack that was cut. */
void mark_truncated(char text[MARK_SIZE], enum reason reason);
/* "[the first of 3 tasks that await it]", larger numbers rounded: of several, a stack goes on with one. */
void mark_waiters(char text[MARK_SIZE], __u32 cnt);
/* What it says, in a sentence without its end; never NULL. The same words on the page and in report; docs/READING.md has more of them. */
const char *mark_meaning(const char *text);
/* Says that native frames are missing: makes no sense in a stack without any. */
bool mark_is_native(const char *text);
/* Folded text: is that frame, of len bytes, a mark? perf has "[unknown]" for a function without a name. */
bool mark_is(const char *frame, size_t len);

#endif /* KRAIT_PROFILE_MARKS_H */
