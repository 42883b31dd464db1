/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signals.h - the signals that end a recording: SIGINT, SIGTERM and SIGHUP are read from a descriptor
 * while krait records, so that what was recorded is written.
 */
#ifndef KRAIT_SESSION_SIGNALS_H
#define KRAIT_SESSION_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct signals {
	sigset_t old_mask; /* a command that krait starts gets it back */
	int fd; /* readable when one has come; -1 not caught */
};

/* 0 or -errno. */
int signals_catch(struct signals *s);
/*
 * The first signal since the last call, 0 none. *ret_from_terminal: the kernel sent it to every process of the
 * terminal, as it does for Ctrl-C, not to krait alone.
 */
int signals_take(struct signals *s, bool *ret_from_terminal);
/* Discards pending signals: they have already stopped the recording, and must not end krait as well. */
void signals_release(struct signals *s);

#endif /* KRAIT_SESSION_SIGNALS_H */
