/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_queue.h - batches that krait keeps until the exporter has them in its spool.
 */
#ifndef KRAIT_AGENT_EXPORT_EXPORT_QUEUE_H
#define KRAIT_AGENT_EXPORT_EXPORT_QUEUE_H

#include "agent/export/export_protocol.h"

#define EXPORT_QUEUE_MAX 64U
/* How many are sent to the worker at a time; only those not sent yet may be dropped. */
#define EXPORT_QUEUE_SENT_MAX 4U

struct export_queued {
	struct export_order_message order;
	int fd; /* contains the body */
	bool sent;
};

/* All zero except limit: empty. */
struct export_queue {
	struct export_queued *list[EXPORT_QUEUE_MAX]; /* oldest first */
	unsigned cnt;
	__u64 bytes, limit;
	__u64 dropped, dropped_samples;
};

/* Appends a copy of the batch; drops the oldest unsent ones to make room. Returns 0 or -ENOMEM. */
int export_queue_add(struct export_queue *q, const struct export_batch *b, __u64 number)
	__attribute__((warn_unused_result, nonnull));
/* Sends to the other end of that channel, as many as allowed. */
void export_queue_send(struct export_queue *q, int channel) __attribute__((nonnull));
/* The worker has it in its spool. */
void export_queue_taken(struct export_queue *q, __u64 number) __attribute__((nonnull));
/*
 * The worker has gone: everything must be sent again. Its successor recognises by the id what it
 * already has.
 */
void export_queue_unsend(struct export_queue *q) __attribute__((nonnull));
void export_queue_free(struct export_queue *q) __attribute__((nonnull));

#endif /* KRAIT_AGENT_EXPORT_EXPORT_QUEUE_H */
