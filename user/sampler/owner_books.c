/* SPDX-License-Identifier: BSD-2-Clause */
#include "sampler/owner_books.h"

#include <stddef.h>
#include <sys/mman.h>

struct owner_books *owner_books_map(int fd)
{
	void *map =
		mmap(NULL, sizeof(struct owner_books), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return map == MAP_FAILED ? NULL : map;
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
