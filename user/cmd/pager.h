/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pager.h - text that is longer than the screen goes through a pager, as git's and perf's does: only where the standard
 * output is a terminal, and with LESS=FRX, so that what fits just stays there.
 *
 * KRAIT_PAGER, else PAGER, else less; "cat" or nothing is none. Whoever runs with another's rights gets none.
 */
#ifndef KRAIT_CMD_PAGER_H
#define KRAIT_CMD_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

/* All zero: there is none. */
struct pager {
	pid_t pid;
	int terminal; /* what the standard output was */
	void (*interrupt)(int); /* and what Ctrl-C did */
};

/* From here on the standard output goes there. Where that cannot be, all stays as it is. */
void pager_start(struct pager *p, bool wanted);
/* Waits for its reader to be done; the standard output is the terminal again. Keeps errno. */
void pager_end(struct pager *p);

#define PAGER_HELP "print directly to the terminal (otherwise through KRAIT_PAGER, PAGER or less)"

#endif /* KRAIT_CMD_PAGER_H */
