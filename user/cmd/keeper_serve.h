/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keeper_serve.h - runs a command that parses what others have written, apart from its caller's rights.
 *
 * If the caller has any (he is root), a child runs the command: the reader, "krait-reader". It has no
 * capability, no way to gain one, a user id that nobody else has, a session without a terminal, and no
 * descriptor but the standard ones and its channel. The caller's process is its keeper and answers
 * its questions (base/worker/keeper.h).
 *
 * Must hold: a reader that crashes leaves old outputs as they were, and no new ones behind.
 */
#ifndef KRAIT_CMD_KEEPER_SERVE_H
#define KRAIT_CMD_KEEPER_SERVE_H

/* Returns the command's exit code, or EXIT_CODE_CRASH after an error message. Calls run() in this process if there are no rights. */
int keeper_run(int (*run)(int argc, char **argv), int argc, char **argv);

#endif /* KRAIT_CMD_KEEPER_SERVE_H */
