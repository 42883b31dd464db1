/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_filter.h - which threads are wanted: --thread of every command.
 *
 * "main" is the main thread of each process, a number is a thread id, anything else a name or
 * a shell pattern for names. The kernel truncates names to 15 bytes: only that much of a longer pattern without
 * wildcards is compared.
 */
#ifndef KRAIT_PROFILE_THREAD_FILTER_H
#define KRAIT_PROFILE_THREAD_FILTER_H

#include <stdbool.h>

#define THREAD_FILTER_MAX 32

/* Exactly one is set; all zero matches nobody. */
struct thread_choice {
	const char *name; /* borrowed */
	int tid;
	bool main;
};

/* All zero: all threads; otherwise those that match any choice. */
struct thread_filter {
	struct thread_choice list[THREAD_FILTER_MAX];
	unsigned cnt;
};

#define THREAD_FILTER_ABOUT                                                                        \
	"only this thread of each process: its id, its name, a pattern for names ('worker-*'), or main; may be given several times"

/*
 * Adds a choice. Returns 0; -EINVAL: the text is empty, or an impossible thread id; -E2BIG: too
 * many.
 */
int thread_filter_add(struct thread_filter *f, const char *text)
	__attribute__((warn_unused_result));
bool thread_filter_is_empty(const struct thread_filter *f);
bool thread_filter_wants(const struct thread_filter *f, int pid, int tid, const char *name);

#endif /* KRAIT_PROFILE_THREAD_FILTER_H */
