/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peer.h - who has connected, as far as the kernel says it.
 *
 * The socket has the ids that the process had when it connected. Everything else is looked up by pid while a
 * pidfd shows that the pid is still that process's.
 *
 * Must hold: a peer that passes peer_check() is an ordinary user's process in the broker's user and pid
 * namespaces, with one uid and one gid, and in no sandbox that the kernel tells of: who may not look at its
 * user's other processes does not get them from the broker either.
 */
#ifndef KRAIT_CMD_BROKER_PEER_H
#define KRAIT_CMD_BROKER_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* supplementary */
	size_t group_cnt;
	int pidfd;
};

/* Is this process in the first user and pid namespaces, whose ids the kernel's samples have? */
bool peer_namespaces_are_first(void);

/* Reads the ids of who has connected. Returns NULL, or why the peer is refused. peer_free() in any case. */
const char *peer_take(struct peer *ret, int fd) __attribute__((warn_unused_result));
/* Looks at the process. Returns NULL, or why it is refused. */
const char *peer_check(const struct peer *p) __attribute__((warn_unused_result));
void peer_free(struct peer *p);

#endif /* KRAIT_CMD_BROKER_PEER_H */
