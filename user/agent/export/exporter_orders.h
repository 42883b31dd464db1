/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exporter_orders.h - what the exporter's worker and krait say to each other: krait's orders, first
 * the setup, then batches; and the worker's words. exporter_serve.c sends what it has taken in.
 *
 * Must hold: a batch is in the spool, or counted as lost there, before krait hears that it was taken.
 */
#ifndef KRAIT_AGENT_EXPORT_EXPORTER_ORDERS_H
#define KRAIT_AGENT_EXPORT_EXPORTER_ORDERS_H

#include <linux/types.h>
#include <stdbool.h>

#include "agent/export/export_protocol.h"
#include "agent/export/sender.h"
#include "agent/export/setup.h"
#include "agent/export/spool.h"
#include "base/text/log.h"

struct exporter_worker {
	int channel;
	struct setup setup, changed; /* as it is; and as it is to be, while to_change */
	unsigned to_change; /* a bit for each destination */
	struct spool_files files;
	struct spool *spool;
	struct curl_library curl;
	CURLM *multi;
	struct sender *senders[EXPORT_DESTINATIONS_MAX];
	bool gzip; /* some destination accepts it */
	bool stopping, disk_was_full;
	bool dirty; /* there is something to report */
	/* CLOCK_MONOTONIC; sync_at_ns 0: nothing to sync */
	__u64 stop_at_ns, sync_at_ns, report_at_ns;
};

/*
 * Sends a word to krait. Waits for room: krait reads when it can, and without that there is nothing
 * to do. Returns 0 or -errno; -EPIPE ends the worker.
 */
int exporter_tell(const struct exporter_worker *w, enum export_word word, int err, __u64 number);
/* Sends what has been counted so far; last: nothing comes after it. */
void exporter_report(struct exporter_worker *w, bool last);
/* ctx: the worker. krait logs the text. */
void exporter_say(void *ctx, enum log_level level, const char *text);

/* Waits for the destinations and the spool's files. Returns 0 or -errno. */
int exporter_receive_setup(struct exporter_worker *w) __attribute__((warn_unused_result));
/* Takes one order. Returns 0; -EAGAIN: there is none; other errors end the worker. */
int exporter_take_order(struct exporter_worker *w) __attribute__((warn_unused_result));

#endif /* KRAIT_AGENT_EXPORT_EXPORTER_ORDERS_H */
