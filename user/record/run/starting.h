/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * starting.h - says on a terminal that krait is starting, if that takes more than a moment: on a
 * busy machine nothing else would show that it is alive.
 */
#ifndef KRAIT_RECORD_RUN_STARTING_H
#define KRAIT_RECORD_RUN_STARTING_H

struct starting;

/* fd: the terminal. NULL if no thread can be created: then nothing is said. */
struct starting *starting__new(int fd);
/* krait has started, or failed: erases the message. NULL: nothing. */
void starting__free(struct starting *s);

#endif /* KRAIT_RECORD_RUN_STARTING_H */
