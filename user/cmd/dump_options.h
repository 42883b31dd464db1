/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dump_options.h - what krait dump is asked for.
 */
#ifndef KRAIT_CMD_DUMP_OPTIONS_H
#define KRAIT_CMD_DUMP_OPTIONS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "follow/filter.h"
#include "profile/thread_filter.h"

struct dump_options {
	bool json, all, locals, pause, native;
	bool tasks; /* of asyncio, instead of threads */
	bool greenlets; /* instead of threads */
	const char *root; /* with core: where its files are to be found; NULL / */
	const char *core; /* a file instead of processes; NULL none */
	struct thread_filter thread; /* empty: all */
	struct filter filter; /* with all; texts of argv */
	unsigned look_cnt; /* at least 1 */
	__u64 interval_ns;
	pid_t *pids; /* those that were named; the caller frees them */
	size_t pid_cnt, pid_cap;
};

/* What makes no sense ends krait with the usage. *o is all zeroes at first. */
void dump_options_parse(struct dump_options *o, int argc, char **argv);
/* One more process. 0 or -ENOMEM. */
int dump_options_add(struct dump_options *o, pid_t pid) __attribute__((warn_unused_result));

#endif /* KRAIT_CMD_DUMP_OPTIONS_H */
