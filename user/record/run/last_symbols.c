/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/run/last_symbols.h"

#include <poll.h>
#include <stdbool.h>

#include "record/samples/collector.h"
#include "record/run/signals.h"
#include "base/system/clock.h"
#include "base/text/log.h"

#define END_NS (10 * NS_PER_SEC)
#define STEP_MS 10
/* Time for asking for names between two looks. */
#define NAMES_NS (20 * 1000000ULL)

/* Returns the number of files still missing. */
static unsigned await(struct collector *collector, struct signals *signals, __u64 end_ns)
{
	struct pollfd fd = { .fd = signals->fd, .events = POLLIN };
	unsigned left = collector__fetching(collector);
	bool ignored;

	while (left && clock_monotonic_ns() < end_ns) {
		if (poll(&fd, 1, STEP_MS) > 0 && signals_take(signals, &ignored))
			break;
		collector__name(collector, clock_monotonic_ns() + NAMES_NS);
		left = collector__fetching(collector);
	}
	return left;
}

void last_symbols_await(struct collector *collector, struct signals *signals)
{
	__u64 end_ns = clock_monotonic_ns() + END_NS;
	unsigned left;

	/* Request the names of what was met last. */
	collector__name(collector, end_ns);
	left = collector__fetching(collector);
	if (left)
		log_info(NULL, "waiting for symbols of %u file%s from debuginfod servers", left,
			 left == 1 ? "" : "s");
	left = await(collector, signals, end_ns);
	if (left)
		log_warn(NULL,
			 "debuginfod servers have not sent the symbols of %u file%s in time: "
			 "'krait report' of a capture asks again",
			 left, left == 1 ? "" : "s");
	collector__stop_fetching(collector);
}
