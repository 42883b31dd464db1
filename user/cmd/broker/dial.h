/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dial.h - a client's side of the connection to krait broker (protocol.h).
 */
#ifndef KRAIT_CMD_BROKER_DIAL_H
#define KRAIT_CMD_BROKER_DIAL_H

#include <stdbool.h>

#include "cmd/broker/protocol.h"

struct error;

/* $KRAIT_SOCKET, or the usual socket. */
const char *dial_path(void);
/* Is it set, or is the usual one there? */
bool dial_is_possible(void);
/* Connects, and waits for the hello. Returns a descriptor, or a negative result with *err filled. */
int dial(struct broker_answer *ret_hello, struct error *err) __attribute__((warn_unused_result));
/*
 * The next answer, and the descriptor that came with it (-1: none). timeout_ms as for channel_take(). Returns 0, or a
 * negative result with *err filled: also if the broker refuses.
 */
int dial_take(int fd, struct broker_answer *ret, int *ret_fd, int timeout_ms, struct error *err)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CMD_BROKER_DIAL_H */
