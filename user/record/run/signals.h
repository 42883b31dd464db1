/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signals.h - the signals that end a recording: while krait records, it reads SIGINT, SIGTERM and
 * SIGHUP from a descriptor, so that it can write what it recorded.
 */
#ifndef KRAIT_RECORD_RUN_SIGNALS_H
#define KRAIT_RECORD_RUN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct signals {
	sigset_t old_mask; /* a command that krait starts gets it back */
	int fd; /* readable when a signal has come; -1: not caught */
};

/* more: SIGUSR2, too. Returns 0 or -errno. */
int signals_catch(struct signals *s, bool more);
/*
 * The first signal since the last call; 0: none. *ret_from_terminal: the kernel sent it to every
 * process of the terminal, as for Ctrl-C, not just to krait.
 */
int signals_take(struct signals *s, bool *ret_from_terminal);
/* Discards pending signals: they have already stopped the recording, and must not end krait as well. */
void signals_release(struct signals *s);

#endif /* KRAIT_RECORD_RUN_SIGNALS_H */
