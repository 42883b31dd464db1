/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/marks.h"

#include <stdio.h>
#include <string.h>

#include "profile/accounts.h"

const char *mark_of(enum reason reason)
{
	switch (reason) {
	case REASON_NO_RUNTIME:
		return "[interpreter not running]";
	case REASON_NATIVE_THREAD:
		return "[native thread]";
	case REASON_EXITING:
		return "[exiting]";
	case REASON_EXECING:
		return "[exec]";
	case REASON_FINALIZING:
		return "[finalizing]";
	default:
		return NULL;
	}
}

void mark_truncated(char text[MARK_SIZE], enum reason reason)
{
	snprintf(text, MARK_SIZE, "[truncated: %s]", reason_name(reason));
}

void mark_waiters(char text[MARK_SIZE], __u32 cnt)
{
	__u32 shown = cnt;

	/* Rounded to keep the number of texts small: each makes stacks of its own. */
	for (__u32 power = 10; power <= cnt; power *= 10)
		shown = power;
	snprintf(text, MARK_SIZE, "[the first of %u%s tasks that await it]", shown,
		 cnt >= 10 ? "+" : "");
}

bool mark_is_native(const char *text)
{
	return !strcmp(text, MARK_NATIVE_TRUNCATED) || !strcmp(text, MARK_NATIVE_DEPTH) ||
	       !strcmp(text, MARK_NATIVE_UNKNOWN);
}

bool mark_is(const char *frame, size_t len)
{
	static const char unknown[] = MARK_UNKNOWN;

	return len > 2 && frame[0] == '[' && frame[len - 1] == ']' &&
	       !(len == sizeof(unknown) - 1 && !memcmp(frame, unknown, len));
}

/* The first entry that the text begins with applies. */
static const struct {
	const char *start, *meaning;
} meanings[] = {
	{ MARK_NATIVE_TRUNCATED,
	  "callers in C are hidden here: the code has neither unwind tables nor frame pointers, or was loaded only a moment ago; no sample is lost" },
	{ MARK_NATIVE_DEPTH,
	  "the C stack is deeper than krait walks, so C functions between the outer Python functions are missing; no sample is lost" },
	{ "[truncated: depth]",
	  "the stack is deeper than krait walks; its outermost frames are missing" },
	{ "[truncated: other interpreter]",
	  "the callers are in another interpreter of the process" },
	{ MARK_TASKS_TORN,
	  "the tasks that await this one were changing while they were read, or a task was just starting another one eagerly" },
	{ MARK_TASKS_LIMIT, "more tasks await one another than krait follows" },
	{ MARK_TASK_FRAMES, "a coroutine awaits more than krait follows; some frames are missing" },
	{ MARK_GREENLETS_TORN,
	  "the thread was between two greenlets; those that wait for it are missing" },
	{ MARK_GREENLETS_LIMIT,
	  "the greenlets that wait for this one have more frames than krait follows" },
	{ MARK_GREENLET_FRAMES,
	  "a greenlet that waits for this one has more frames, which could not be read" },
	{ MARK_GREENLETS_LATE, "sampled before krait knew where the program keeps its greenlets" },
	{ MARK_GREENLETS_UNKNOWN,
	  "this may be a greenlet; krait cannot read this version of greenlet, or build of Python, to say who waits for it" },
	{ "[truncated: ", "the outermost frames are missing" },
	{ MARK_NATIVE_UNKNOWN,
	  "native frames of a process that exited before their addresses could be resolved" },
	{ MARK_TASKS_LATE, "sampled before krait knew where the program keeps its tasks" },
	{ MARK_TASKS_CYCLE, "tasks that await one another in a circle" },
	{ MARK_TASK_FOREIGN, "a task that runs no coroutine written in Python" },
	{ "[the first of ", "several tasks await this one; the stack goes on with one of them" },
	{ MARK_NO_PYTHON, "the thread belongs to Python, and no Python function was running" },
	{ MARK_NO_STACK, "the profile had no more room for new stacks" },
	{ MARK_NO_FUNCTION, "the capture had no more room for new functions" },
	{ MARK_SMALL, "very many tiny stacks, merged so that the page stays small" },
	{ MARK_NOT_SAMPLED,
	  "CPU time that the kernel has charged to the thread, and that no tick of the clock found" },
	{ MARK_OWN, "krait itself at work in the thread: what sampling it costs" },
	{ MARK_GC, "Python was collecting garbage" },
	{ MARK_LEFT_OUT,
	  "Python frames without their names: new names of this user had cost krait agent too much" },
	{ MARK_MEMORY_BEFORE, "memory that the process had before krait first looked at it" },
	{ MARK_MEMORY_PARENT,
	  "memory that the process shares with its parent since the fork, or has from it" },
	{ MARK_MEMORY_UNSEEN,
	  "memory that came without a fault of a thread: MAP_POPULATE, mlock, a read straight into it, huge pages that the kernel made later" },
	{ MARK_MEMORY_FILES,
	  "pages of files and of shared memory that came with a neighbour's fault, or before" },
	{ MARK_MEMORY_SWAPPED, "memory that is swapped out now" },
	{ MARK_UNKNOWN, "an address that belongs to no known code" },
	{ "[python 0x",
	  "a Python function whose name is missing: the file beside the capture is gone" },
	{ "[native thread]", "a thread that runs no Python: a library started it" },
	{ "[interpreter not running]", "Python was not initialised yet, or had ended" },
	{ "[finalizing]", "the interpreter was ending" },
	{ "[exiting]", "the thread was exiting" },
	{ "[exec]", "the process was replacing its program" },
	{ "[gil]", "waiting for the interpreter's lock" },
	{ "[lock", "waiting for a lock of Python or of a library" },
	{ "[io", "waiting for input or output" },
	{ "[sleep", "asleep for a time that the program chose" },
	{ "[runnable", "ready to run, but given no CPU: others had it, or its quota was used up" },
	{ "[fault", "waiting for memory to be brought in" },
	{ "[stopped: frozen]",
	  "frozen with its control group (docker pause, systemctl freeze), or with the machine" },
	{ "[stopped", "stopped by a debugger or a signal" },
	{ "[waiting", "waiting for something that krait cannot tell" },
	{ "[stop-the-world",
	  "waiting for other threads to stop, or for the thread that stopped them" },
	{ "[critical-section", "waiting for an object that another thread was using" },
};

const char *mark_meaning(const char *text)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
		if (!strncmp(text, meanings[i].start, strlen(meanings[i].start)))
			return meanings[i].meaning;
	}
	return "a remark of krait, not a function";
}
