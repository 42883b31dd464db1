/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/states.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const char *const names[STATE_CNT] = {
	[STATE_UNKNOWN] = "",
	[STATE_CPU] = "cpu",
	[STATE_PYTHON] = "python",
	[STATE_NATIVE] = "native",
	[STATE_GIL] = "gil",
	[STATE_LOCK] = "lock",
	[STATE_IO] = "io",
	[STATE_SLEEP] = "sleep",
	[STATE_RUNNABLE] = "runnable",
	[STATE_FAULT] = "fault",
	[STATE_STOPPED] = "stopped",
	[STATE_WAITING] = "waiting",
	[STATE_WORLD] = "stop-the-world",
	[STATE_SECTION] = "critical-section",
};

#define BIT(state) (1ULL << (state))
#define BIT_GC BIT(STATE_CNT)
#define BIT_EXCEPTION BIT(STATE_CNT + 1)
#define BITS_ON (BIT(STATE_CPU) | BIT(STATE_PYTHON) | BIT(STATE_NATIVE))
#define BITS_OFF (BIT(STATE_CNT) - BIT(STATE_GIL))

const char *state_name(enum state state)
{
	return state < STATE_CNT ? names[state] : "";
}

enum state state_of(__u32 word)
{
	return (word & STATE_MASK) < STATE_CNT ? (enum state)(word & STATE_MASK) : STATE_UNKNOWN;
}

enum state state_of_mark(const char *text)
{
	size_t len = *text == '[' ? strcspn(text + 1, ":]") : 0;

	for (int state = STATE_GIL; len && state < STATE_CNT; state++) {
		if (strlen(names[state]) == len && !memcmp(names[state], text + 1, len))
			return (enum state)state;
	}
	return STATE_UNKNOWN;
}

static bool is_word(const char *word, const char *text, size_t len)
{
	return strlen(word) == len && !memcmp(word, text, len);
}

static __u64 bits_of(const char *text, size_t len)
{
	if (is_word("gc", text, len))
		return BIT_GC;
	if (is_word("exception", text, len))
		return BIT_EXCEPTION;
	if (is_word("on", text, len))
		return BITS_ON;
	if (is_word("off", text, len))
		return BITS_OFF;
	for (int state = STATE_UNKNOWN + 1; state < STATE_CNT; state++) {
		if (is_word(names[state], text, len))
			return BIT(state);
	}
	return 0;
}

int states_parse(__u64 *ret, const char *text)
{
	*ret = 0;
	for (;;) {
		size_t len = strcspn(text, ",");
		__u64 bits = bits_of(text, len);

		if (!bits)
			return -EINVAL;
		*ret |= bits;
		if (!text[len])
			return 0;
		text += len + 1;
	}
}

bool states_has_off(__u64 set)
{
	return set & BITS_OFF;
}

bool states_has(__u64 set, __u32 word)
{
	return set & BIT(state_of(word)) || (set & BIT_GC && word & STATE_GC) ||
	       (set & BIT_EXCEPTION && word & STATE_EXCEPTION);
}
