/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker.h - krait's own processes that may be given up: a prober, the parser, the fetcher.
 *
 * A worker is krait's own executable, started anew as "krait-ROLE" (role.h). It shares only one
 * channel with its starter: no memory, no other descriptor, no terminal. It ends when the channel
 * closes, or at the latest with the thread that started it. A reader's workers are its keeper's
 * children (keeper.h).
 *
 * Must hold: nothing here waits for a worker to start, to answer or to end. Other threads may run
 * while one is started.
 */
#ifndef KRAIT_BASE_WORKER_WORKER_H
#define KRAIT_BASE_WORKER_WORKER_H

#include <stdbool.h>
#include <sys/types.h>

struct error;
struct rights_ids;
struct worker;

/* Returns NULL with *err filled if there is no process or descriptor left. */
struct worker *worker__start(const char *role, struct error *err)
	__attribute__((warn_unused_result, nonnull));

/*
 * Before this process has the ids that it will have: starts a worker that the next worker__start() of that role takes.
 * It reads nothing until worker_tell_ids() says whose it is. If it cannot be started, worker__start() starts one. parses: it
 * has a parser, likewise.
 */
void worker_start_ahead(const char *role, bool parses) __attribute__((nonnull));
/* To all of these; opener: as for worker_hand_opener(), the caller's; -1: none. */
void worker_tell_ids(const struct rights_ids *ids, int opener_fd) __attribute__((nonnull));

/* Probers that are started from now on get that descriptor, which stays the caller's, as ROLE_OPENER_FD. */
void worker_hand_opener(int fd);

/* Returns krait's end of the channel: non-blocking, owned by the worker. */
int worker__fd(const struct worker *w) __attribute__((nonnull));
pid_t worker__pid(const struct worker *w) __attribute__((nonnull));

/*
 * Kills the worker, closes the channel and frees the struct. If the kernel cannot end the worker
 * now (it waits for memory that never comes), the next worker__start() or worker__dying() reaps it.
 * NULL: does nothing.
 */
void worker__abandon(struct worker *w);
/* Gives krait's end of the channel away, whose new owner ends the worker by closing it. Frees the struct. */
int worker__hand_over(struct worker *w) __attribute__((warn_unused_result, nonnull));

/* Returns how many abandoned workers have not ended yet. */
unsigned worker__dying(void);

#endif /* KRAIT_BASE_WORKER_WORKER_H */
