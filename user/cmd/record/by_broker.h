/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * by_broker.h - krait record for a user without rights, where krait broker records for everybody: asks it for the
 * capture, and makes the outputs of that with the user's own rights.
 */
#ifndef KRAIT_CMD_RECORD_BY_BROKER_H
#define KRAIT_CMD_RECORD_BY_BROKER_H

#include <stdbool.h>

struct record_options;

/* Does this process lack the rights to record, and is there a broker to ask (KRAIT_SOCKET, or the usual socket)? */
bool by_broker_is_possible(void);
/* Does it lack the rights, and nobody has set up a broker? Then there is something to be said for one. */
bool by_broker_would_help(void);
/* The whole command. Returns its exit code. */
int by_broker_record(const struct record_options *o, const char *command_line);

#endif /* KRAIT_CMD_RECORD_BY_BROKER_H */
