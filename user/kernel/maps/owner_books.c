/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/maps/owner_books.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#include "base/share/quota.h"

struct owner_books *owner_books_map(int fd)
{
	void *map =
		mmap(NULL, sizeof(struct owner_books), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	struct owner_books *books = map == MAP_FAILED ? NULL : map;

	if (books)
		owner_table_init(&books->table);
	return books;
}

/* Nothing is in use of it, and no number will be reported for it. */
static bool is_idle(const struct owner_use *use)
{
	return !__atomic_load_n(&use->procs, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&use->produced, __ATOMIC_RELAXED) ==
		       __atomic_load_n(&use->consumed, __ATOMIC_RELAXED) &&
	       !use->procs_refused && !use->events_dropped && !use->samples_dropped &&
	       !use->codes_dropped;
}

void owner_books_release(struct owner_books *books, owner_holds_fn holds, void *ctx)
{
	for (unsigned owner = 1; owner < OWNER_CNT; owner++) {
		if (books->table.uids[owner] && is_idle(&books->use[owner]) && !holds(ctx, owner)) {
			books->table.shared[owner] = 0;
			__atomic_store_n(&books->table.uids[owner], 0, __ATOMIC_RELEASE);
		}
	}
}

void owner_books_unmap(struct owner_books *books)
{
	if (books)
		munmap(books, sizeof(*books));
}

void owner_books_consumed(struct owner_books *books, unsigned owner, __u64 bytes)
{
	__atomic_fetch_add(&books->use[owner % OWNER_CNT].consumed, bytes, __ATOMIC_RELAXED);
}
