/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * owner_books.h - which uid is which owner, and what each has of the kernel side: the map owners, which
 * the kernel and user space write both (bpf/share.h says who writes what).
 *
 * Must hold: never more is consumed than was produced, because each record is reported once.
 */
#ifndef KRAIT_SAMPLER_OWNER_BOOKS_H
#define KRAIT_SAMPLER_OWNER_BOOKS_H

#include <linux/types.h>

#include "share.h"

/* Of the map owners, borrowed; NULL and errno on failure. */
struct owner_books *owner_books_map(int fd);
void owner_books_unmap(struct owner_books *books);

/* Records that took up so much of the ring buffer, by share_ring_bytes(), have left it. Any thread. */
void owner_books_consumed(struct owner_books *books, unsigned owner, __u64 bytes);

#endif /* KRAIT_SAMPLER_OWNER_BOOKS_H */
