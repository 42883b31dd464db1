/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot.h - makes one capture of slices of a memory (keep.h), and says so.
 */
#ifndef KRAIT_AGENT_KEEP_SNAPSHOT_H
#define KRAIT_AGENT_KEEP_SNAPSHOT_H

struct slices;

/*
 * fd: of the folder. Returns an exit code, after a message; without one EXIT_CODE_EMPTY: there is no sample.
 */
int snapshot_make(const char *folder, int fd, const struct slices *slices, const char *output);

#endif /* KRAIT_AGENT_KEEP_SNAPSHOT_H */
