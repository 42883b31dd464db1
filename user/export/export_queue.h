/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_queue.h - batches that krait holds until the exporter has them in its spool.
 */
#ifndef KRAIT_EXPORT_EXPORT_QUEUE_H
#define KRAIT_EXPORT_EXPORT_QUEUE_H

#include "export/export_protocol.h"

#define EXPORT_QUEUE_MAX 64U
/* Of them, those that the worker is sent at a time: what it has not been sent may be dropped. */
#define EXPORT_QUEUE_SENT_MAX 4U

struct export_queued {
	struct export_order_message order;
	int fd; /* of the body */
	bool sent;
};

/* All zero but for limit: empty. */
struct export_queue {
	struct export_queued *list[EXPORT_QUEUE_MAX]; /* oldest first */
	unsigned cnt;
	__u64 bytes, limit;
	__u64 dropped, dropped_samples;
};

/* A copy of the batch at the end; the oldest that are not sent go to make room for it. 0 or -ENOMEM. */
int export_queue_add(struct export_queue *q, const struct export_batch *b, __u64 number)
	__attribute__((warn_unused_result, nonnull));
/* To the other end of that channel, as much as it may have. */
void export_queue_send(struct export_queue *q, int channel) __attribute__((nonnull));
/* The worker has it. */
void export_queue_taken(struct export_queue *q, __u64 number) __attribute__((nonnull));
/* The worker has gone: all is to be sent again. What it had, its successor knows by the id. */
void export_queue_unsend(struct export_queue *q) __attribute__((nonnull));
void export_queue_free(struct export_queue *q) __attribute__((nonnull));

#endif /* KRAIT_EXPORT_EXPORT_QUEUE_H */
