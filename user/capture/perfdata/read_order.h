/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_order.h - records by their times. perf empties the buffer of one CPU after the other, so a sample may come before
 * the mapping that it needs, of a thread that has changed its CPU.
 *
 * Whenever all have been emptied perf says so (PERF_USER_FINISHED_ROUND): nothing that comes later is older than what the
 * round before it had. As perf's ordered events (tools/perf/util/ordered-events.c).
 *
 * Must hold: a file that never says so makes it hold READ_ORDER_BYTES and one record; then the oldest goes.
 */
#ifndef KRAIT_CAPTURE_PERFDATA_READ_ORDER_H
#define KRAIT_CAPTURE_PERFDATA_READ_ORDER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define READ_ORDER_BYTES (64U << 20)

struct ordered {
	__u64 time_ns, number; /* number: in the file's order, which is that of equal times */
	__u8 *record; /* owned */
	size_t size;
};

/* All zero: empty. */
struct read_order {
	struct ordered *heap; /* the oldest first */
	size_t cnt, cap, bytes;
	__u64 number, last_ns; /* of all so far */
	__u64 round_ns; /* last_ns at the last round's end */
	__u64 due_ns; /* what is not later may go */
	bool ended;
	__u8 *given; /* by the last read_order_take() */
};

void read_order_free(struct read_order *o);
/* Copies a record. Returns 0 or -ENOMEM. */
int read_order_put(struct read_order *o, const void *record, size_t size, __u64 time_ns)
	__attribute__((warn_unused_result));
void read_order_round(struct read_order *o);
/* There are no more records: all may go. */
void read_order_end(struct read_order *o);
/* The next one, valid until the next call; NULL: it is not due yet, or there is none. */
const __u8 *read_order_take(struct read_order *o, size_t *ret_size);

#endif /* KRAIT_CAPTURE_PERFDATA_READ_ORDER_H */
