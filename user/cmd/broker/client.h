/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * client.h - a command of a user without rights, where krait broker serves everybody: asks it to do the same, with
 * what was typed. What is printed, and messages, come back; all files are the user's own matter (by_broker.h).
 */
#ifndef KRAIT_CMD_BROKER_CLIENT_H
#define KRAIT_CMD_BROKER_CLIENT_H

#include <stdbool.h>

#include "cmd/broker/protocol.h"

struct error;

/* Does this process lack the rights to sample, and is there a broker to ask (KRAIT_SOCKET, or the usual socket)? */
bool client_is_possible(void);
/* Does it lack the rights, and nobody has set up a broker? Then there is something to be said for one. */
bool client_would_help(void);

/* Makes a request of the command line. Returns 0, or a negative result with *err filled: what is not served. */
int client_request(struct broker_request *ret, enum broker_command command, struct error *err)
	__attribute__((warn_unused_result, nonnull));
/* Adds an option. Likewise. */
int client_add(struct broker_request *r, const char *option, const char *arg, struct error *err)
	__attribute__((warn_unused_result, nonnull(1, 2, 4)));
/* Connects and sends it. Returns a descriptor, or a negative result with *err filled. */
int client_ask(struct broker_request *r, struct error *err)
	__attribute__((warn_unused_result, nonnull));
/* Says what the command has left there to be said. */
void client_say(int folder);
/* And the service: why it has ended it (the text of BROKER_DONE); "": it has not. */
void client_say_cut(const char *why);

/* The whole command, of those that only print. Returns its exit code. */
int client_run(enum broker_command command);

#endif /* KRAIT_CMD_BROKER_CLIENT_H */
