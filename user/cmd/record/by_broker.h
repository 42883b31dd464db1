/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * by_broker.h - krait record for a user without rights, where krait broker records for everybody: asks it for the
 * capture, and makes the outputs of that with the user's own rights.
 */
#ifndef KRAIT_CMD_RECORD_BY_BROKER_H
#define KRAIT_CMD_RECORD_BY_BROKER_H

struct record_options;

/* The whole command. Returns its exit code. */
int by_broker_record(const struct record_options *o, const char *command_line);

#endif /* KRAIT_CMD_RECORD_BY_BROKER_H */
