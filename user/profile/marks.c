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

	/* Few different texts: each makes stacks of its own. */
	for (__u32 power = 10; power <= cnt; power *= 10)
		shown = power;
	snprintf(text, MARK_SIZE, "[the first of %u%s tasks that await it]", shown,
		 cnt >= 10 ? "+" : "");
}

bool mark_is_native(const char *text)
{
	return !strcmp(text, MARK_NATIVE_TRUNCATED) || !strcmp(text, MARK_NATIVE_UNKNOWN);
}

bool mark_is(const char *frame, size_t len)
{
	static const char unknown[] = MARK_UNKNOWN;

	return len > 2 && frame[0] == '[' && frame[len - 1] == ']' &&
	       !(len == sizeof(unknown) - 1 && !memcmp(frame, unknown, len));
}
