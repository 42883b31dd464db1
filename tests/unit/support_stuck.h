/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_stuck.h - a file that can be mapped but never read: on FUSE, with a server that does not
 * answer.
 */
#ifndef KRAIT_TESTS_SUPPORT_STUCK_H
#define KRAIT_TESTS_SUPPORT_STUCK_H

#include <stdbool.h>
#include <sys/types.h>

/* A file name in that folder whose lookup is never answered. */
#define STUCK_SILENT "silent"

struct stuck {
	pid_t server;
	char folder[64], file[80];
};

/*
 * Returns false, after a message with the reason, if /dev/fuse is not usable or mounting is
 * impossible.
 */
bool stuck_mount(struct stuck *s);
/* Waiting processes get an error. */
void stuck_unmount(struct stuck *s);

#endif /* KRAIT_TESTS_SUPPORT_STUCK_H */
