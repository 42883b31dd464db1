/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * owner_books.h - which uid has which owner, and what each owner uses on the kernel side: the map
 * owners, which both the kernel and user space write (bpf/share.h says who writes what).
 *
 * Must hold: never more is consumed than was produced, because each record is reported once.
 */
#ifndef KRAIT_KERNEL_MAPS_OWNER_BOOKS_H
#define KRAIT_KERNEL_MAPS_OWNER_BOOKS_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/share.h"

/* fd: of the map owners, borrowed; NULL and errno on failure. */
struct owner_books *owner_books_map(int fd);
void owner_books_unmap(struct owner_books *books);

/*
 * Records that occupied that many bytes, by share_ring_bytes(), have left the ring buffer. Any
 * thread may call.
 */
void owner_books_consumed(struct owner_books *books, unsigned owner, __u64 bytes);

/* Does user space keep something for that owner, or has it something to report? */
typedef bool (*owner_holds_fn)(void *ctx, unsigned owner);
/*
 * Gives back the places of uids that hold nothing. The kernel may be about to use one, and then two
 * uids share it for as long as that process lives.
 */
void owner_books_release(struct owner_books *books, owner_holds_fn holds, void *ctx);

#endif /* KRAIT_KERNEL_MAPS_OWNER_BOOKS_H */
