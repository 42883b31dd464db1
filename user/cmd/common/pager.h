/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pager.h - sends text that is longer than the screen through a pager, as git and perf do: only if
 * standard output is a terminal, and with LESS=FRX, so that short text just stays on the screen.
 *
 * Uses KRAIT_PAGER, else PAGER, else less; "cat" or an empty value means none. Runs none if krait
 * has another user's rights.
 */
#ifndef KRAIT_CMD_COMMON_PAGER_H
#define KRAIT_CMD_COMMON_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

/* Initially all zero: no pager. */
struct pager {
	pid_t pid;
	int terminal; /* the original standard output */
	void (*interrupt)(int); /* the original handler of Ctrl-C */
};

/* Redirects standard output to the pager. On failure nothing changes. */
void pager_start(struct pager *p, bool wanted);
/* Waits until the pager ends and restores standard output. Keeps errno. */
void pager_end(struct pager *p);

#define PAGER_HELP "print directly to the terminal (otherwise through KRAIT_PAGER, PAGER or less)"

#endif /* KRAIT_CMD_COMMON_PAGER_H */
