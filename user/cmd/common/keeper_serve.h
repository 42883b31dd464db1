/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keeper_serve.h - what a command parses that others have written, it parses apart from its caller's rights.
 *
 * If the caller has any (he is root), a child goes on: the reader, "krait-reader". It has no
 * capability, no way to gain one, a user id that nobody else has, a session without a terminal, and no
 * descriptor but the standard ones and its channel. The caller's process is its keeper and answers
 * its questions (base/worker/keeper.h).
 *
 * Must hold: a reader that crashes leaves old outputs as they were, and no new ones behind.
 */
#ifndef KRAIT_CMD_COMMON_KEEPER_SERVE_H
#define KRAIT_CMD_COMMON_KEEPER_SERVE_H

/*
 * Call before what others have written is opened. Returns in the reader, if the caller has rights; the keeper
 * ends with the reader's exit code, or EXIT_CODE_CRASH after an error message. Without rights, or in
 * a reader, does nothing. argv: NULL-terminated, of the command: files that it names may be opened.
 */
void keeper_split(char **argv);

/* For an option's value, before keeper_split(): the reader may write there. path: stays the caller's. */
void keeper_names_output(const char *path);

#endif /* KRAIT_CMD_COMMON_KEEPER_SERVE_H */
