/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dump_options.h - the command line of krait dump as a struct.
 */
#ifndef KRAIT_CMD_DUMP_DUMP_OPTIONS_H
#define KRAIT_CMD_DUMP_DUMP_OPTIONS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "record/follow/filter.h"
#include "profile/thread_filter.h"

struct dump_options {
	bool json, all, locals, pause, native;
	bool tasks; /* show asyncio tasks instead of threads */
	bool greenlets; /* show greenlets instead of threads */
	const char *root; /* with core: the root for its files; NULL: / */
	const char *core; /* a file instead of processes; NULL: none */
	struct thread_filter thread; /* empty: all */
	struct filter filter; /* with -a; texts belong to argv */
	unsigned look_cnt; /* at least 1 */
	__u64 interval_ns;
	pid_t *pids; /* the named ones; the caller frees them */
	size_t pid_cnt, pid_cap;
};

/* Invalid options end krait with the usage message. *o must be all zero. */
void dump_options_parse(struct dump_options *o, int argc, char **argv);
/* Adds a process. Returns 0 or -ENOMEM. */
int dump_options_add(struct dump_options *o, pid_t pid) __attribute__((warn_unused_result));

#endif /* KRAIT_CMD_DUMP_DUMP_OPTIONS_H */
