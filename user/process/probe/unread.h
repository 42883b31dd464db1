/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unread.h - processes that may be Python, but could not be inspected: a message names some, with
 * the reason.
 */
#ifndef KRAIT_PROCESS_PROBE_UNREAD_H
#define KRAIT_PROCESS_PROBE_UNREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/text/mentions.h"

/* All zero: none. */
struct unread {
	struct mentions mentions;
	char why[256]; /* of the first; printable */
	bool differ; /* another one has another reason */
};

/* comm and why: as in struct py_process. The machine's first process does not count. */
void unread_note(struct unread *u, pid_t pid, const char *comm, const char *why)
	__attribute__((nonnull));
/* "3 processes could not be inspected (WHY) and may be Python: 12 a, 34 b, 56 c"; "": none */
void unread_say(const struct unread *u, char *said, size_t size) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_PROBE_UNREAD_H */
