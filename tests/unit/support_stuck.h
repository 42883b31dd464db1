/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_stuck.h - a file that can be mapped and never be read: on FUSE, served by nobody who answers.
 */
#ifndef KRAIT_TESTS_SUPPORT_STUCK_H
#define KRAIT_TESTS_SUPPORT_STUCK_H

#include <stdbool.h>
#include <sys/types.h>

/* The name of a file in that folder of which nobody says whether it is there. */
#define STUCK_SILENT "silent"

struct stuck {
	pid_t server;
	char folder[64], file[80];
};

/* False, with a reason as a message, where /dev/fuse may not be used or nothing be mounted. */
bool stuck_mount(struct stuck *s);
/* Whoever waits gets an error. */
void stuck_unmount(struct stuck *s);

#endif /* KRAIT_TESTS_SUPPORT_STUCK_H */
