/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/export/export_queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/memory_file.h"
#include "base/worker/channel.h"

static void free_queued(struct export_queued *b)
{
	if (b && b->fd >= 0)
		close(b->fd);
	free(b);
}

static void remove_at(struct export_queue *q, unsigned i)
{
	q->bytes -= q->list[i]->order.len;
	free_queued(q->list[i]);
	memmove(&q->list[i], &q->list[i + 1], (--q->cnt - i) * sizeof(q->list[0]));
}

static void count_dropped(struct export_queue *q, __u64 samples)
{
	q->dropped++;
	q->dropped_samples += samples;
}

/* Drops the oldest batch not sent to the worker yet; it may already have those that were sent. */
static bool drop_oldest(struct export_queue *q)
{
	for (unsigned i = 0; i < q->cnt; i++) {
		if (q->list[i]->sent)
			continue;
		count_dropped(q, q->list[i]->order.samples);
		remove_at(q, i);
		return true;
	}
	return false;
}

static struct export_queued *make_queued(const struct export_batch *b, __u64 number)
{
	struct export_queued *made = calloc(1, sizeof(*made));

	if (!made)
		return NULL;
	made->order = (struct export_order_message){
		.order = EXPORT_BATCH,
		.kind = b->kind,
		.number = number,
		.from_unix_ns = b->from_unix_ns,
		.to_unix_ns = b->to_unix_ns,
		.samples = b->samples,
		.len = b->len,
	};
	memcpy(made->order.id, b->id, sizeof(made->order.id));
	snprintf(made->order.query, sizeof(made->order.query), "%s", b->query ? b->query : "");
	made->fd = memory_file("krait-batch", b->body, b->len);
	if (made->fd >= 0)
		return made;
	free_queued(made);
	return NULL;
}

int export_queue_add(struct export_queue *q, const struct export_batch *b, __u64 number)
{
	struct export_queued *made = make_queued(b, number);

	if (!made)
		return -ENOMEM;
	while ((q->cnt == EXPORT_QUEUE_MAX || q->bytes + b->len > q->limit) && drop_oldest(q))
		;
	if (q->cnt == EXPORT_QUEUE_MAX) {
		count_dropped(q, b->samples);
		free_queued(made);
		return 0;
	}
	q->list[q->cnt++] = made;
	q->bytes += b->len;
	return 0;
}

void export_queue_send(struct export_queue *q, int channel)
{
	for (unsigned i = 0; i < q->cnt && i < EXPORT_QUEUE_SENT_MAX; i++) {
		struct export_queued *b = q->list[i];

		if (!b->sent && channel_send(channel, &b->order, sizeof(b->order), &b->fd, 1))
			/* its buffer is full, or it has gone: listening to it will show that */
			return;
		b->sent = true;
	}
}

void export_queue_taken(struct export_queue *q, __u64 number)
{
	for (unsigned i = 0; i < q->cnt; i++) {
		if (q->list[i]->order.number == number) {
			remove_at(q, i);
			return;
		}
	}
}

void export_queue_unsend(struct export_queue *q)
{
	for (unsigned i = 0; i < q->cnt; i++)
		q->list[i]->sent = false;
}

void export_queue_free(struct export_queue *q)
{
	while (q->cnt)
		remove_at(q, q->cnt - 1);
}
