/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober_serve.h - the role "prober": looks at other processes, and at nothing else.
 *
 * Whatever touches another process may block for ever: its memory and its files can be on FUSE or
 * behind userfaultfd. So this process does it, and its starter gives it up if it does not answer.
 */
#ifndef KRAIT_PROCESS_PROBE_PROBER_SERVE_H
#define KRAIT_PROCESS_PROBE_PROBER_SERVE_H

/* Answers until the channel closes. Returns the exit code. */
int prober_serve(int channel_fd);

#endif /* KRAIT_PROCESS_PROBE_PROBER_SERVE_H */
