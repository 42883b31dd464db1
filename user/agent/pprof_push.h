/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof_push.h - sends windows as pprof, one body per service, to destinations that take those:
 * Pyroscope's /ingest.
 *
 * Must hold: each sample of a window is in one body, or counted as failed.
 */
#ifndef KRAIT_AGENT_PPROF_PUSH_H
#define KRAIT_AGENT_PPROF_PUSH_H

#include <linux/types.h>

#include "agent/sink.h"

struct exporter;
struct pprof_push;
struct resources;

/* All are borrowed; host: a label of each body. NULL: out of memory. */
struct pprof_push *pprof_push__new(struct exporter *exporter, struct resources *resources,
				   const char *host);
void pprof_push__free(struct pprof_push *p);
struct agent_sink pprof_push__sink(struct pprof_push *p);

#endif /* KRAIT_AGENT_PPROF_PUSH_H */
