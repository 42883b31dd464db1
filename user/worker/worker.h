/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker.h - processes of krait's own that may be given up: a prober, the parser, the fetcher.
 *
 * A worker is krait's own executable, started anew under the name "krait-ROLE" (role.h says what it
 * becomes). It shares nothing with its starter but one channel: no memory, no descriptor, no
 * terminal. It ends when the channel closes, and at the latest with the thread that started it.
 *
 * Must hold: nothing here waits for a worker: neither to start, nor to answer, nor to end. Starting
 * one is safe while other threads run.
 */
#ifndef KRAIT_WORKER_WORKER_H
#define KRAIT_WORKER_WORKER_H

#include <stdbool.h>
#include <sys/types.h>

struct error;
struct worker;

/* NULL and *err when there is no process or descriptor left. */
struct worker *worker__start(const char *role, struct error *err)
	__attribute__((warn_unused_result, nonnull));

/* Krait's end of the channel: non-blocking, owned by the worker. */
int worker__fd(const struct worker *w) __attribute__((nonnull));
pid_t worker__pid(const struct worker *w) __attribute__((nonnull));

/*
 * Kills it, closes the channel, forgets it. A worker that the kernel cannot end now (it waits for
 * memory that never comes) is reaped later, when another one is started or worker__dying() asks.
 * NULL: nothing.
 */
void worker__abandon(struct worker *w);

/* Abandoned ones that have not ended yet. */
unsigned worker__dying(void);

static inline void cleanup_worker_(struct worker **w)
{
	worker__abandon(*w);
}
#define cleanup_worker __attribute__((cleanup(cleanup_worker_)))

#endif /* KRAIT_WORKER_WORKER_H */
