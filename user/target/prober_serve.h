/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober_serve.h - the role "prober": looks at other processes, and at nothing else.
 *
 * Whatever touches another process may never come back: its memory and its files can be on FUSE or
 * behind userfaultfd. So this process does it, which its starter gives up when it does not answer.
 */
#ifndef KRAIT_TARGET_PROBER_SERVE_H
#define KRAIT_TARGET_PROBER_SERVE_H

/* Answers until the channel closes. The exit code. */
int prober_serve(int channel_fd);

#endif /* KRAIT_TARGET_PROBER_SERVE_H */
