/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_filter.h - what threads are called, and which are wanted: --thread of every command.
 *
 * "main" or "MainThread" is the first thread of each process, a number is a thread id, anything else
 * a name or a shell pattern for names. The kernel truncates names to 15 bytes: only that much of a longer pattern
 * without wildcards is compared.
 */
#ifndef KRAIT_PROFILE_THREAD_FILTER_H
#define KRAIT_PROFILE_THREAD_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#define THREAD_FILTER_MAX 32

/*
 * What a thread is called everywhere: as the program has named it, and otherwise as the kernel
 * does. "MainThread" is no such name: every first thread has it, and the kernel's says what the
 * process is. Nor is "Dummy-1", where a library has told the kernel a better one. name: NULL or "":
 * none; comm: the kernel's, process_comm: that of the first thread.
 */
const char *thread_name_shown(const char *name, const char *comm, const char *process_comm)
	__attribute__((nonnull(2, 3)));

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
/* Do names decide? */
bool thread_filter_has_names(const struct thread_filter *f);
/* Puts the options as they were given: "--thread worker-1 --thread main". */
void thread_filter_say(const struct thread_filter *f, char *buf, size_t size);
bool thread_filter_wants(const struct thread_filter *f, int pid, int tid, const char *name);

#endif /* KRAIT_PROFILE_THREAD_FILTER_H */
