/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/memory/page_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096ULL
#define PAGES 256
/* Pages to read at once. */
#define FETCH_MAX 8U
/* Pages whose memory stays for what comes after page_cache__clear(). */
#define KEPT_MAX 16U

/* The numbers are apart from the bytes, so a place that was never needed takes no memory. */
struct page_cache {
	const struct memory *from;
	struct memory memory;
	__u64 numbers[PAGES]; /* number of the page at that place + 1; 0: none */
	char (*bytes)[PAGE];
	unsigned used; /* places that take memory, at most */
};

/* Neither neighbours nor addresses a power of two apart collide. */
static unsigned place_of(__u64 number)
{
	return (number ^ number >> 8 ^ number >> 16) % PAGES;
}

/* Reads bytes of one page. */
static int read_part(struct page_cache *c, __u64 addr, void *buf, size_t len)
{
	const __u64 number = addr / PAGE;
	const unsigned place = place_of(number);

	if (c->numbers[place] != number + 1) {
		c->numbers[place] = 0;
		c->used++;
		/* A page that cannot be read as a whole, perhaps because its file was truncated. */
		if (memory_read(c->from, number * PAGE, c->bytes[place], PAGE))
			return memory_read(c->from, addr, buf, len);
		c->numbers[place] = number + 1;
	}
	memcpy(buf, c->bytes[place] + addr % PAGE, len);
	return 0;
}

static int read_cached(void *ctx, __u64 addr, void *buf, size_t len)
{
	struct page_cache *c = ctx;
	size_t done = 0;

	/* Long reads do not benefit. */
	if (len > PAGE)
		return memory_read(c->from, addr, buf, len);
	while (done < len) {
		size_t room = PAGE - (addr + done) % PAGE;
		size_t part = len - done < room ? len - done : room;
		int err = read_part(c, addr + done, (char *)buf + done, part);

		if (err)
			return err;
		done += part;
	}
	return 0;
}

struct page_cache *page_cache__new(const struct memory *from)
{
	struct page_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->bytes = aligned_alloc(PAGE, sizeof(*c->bytes) * PAGES);
	if (!c->bytes) {
		free(c);
		return NULL;
	}
	c->from = from;
	c->memory = (struct memory){ .read = read_cached, .ctx = c };
	return c;
}

void page_cache__free(struct page_cache *c)
{
	if (!c)
		return;
	free(c->bytes);
	free(c);
}

const struct memory *page_cache__memory(const struct page_cache *c)
{
	return &c->memory;
}

void page_cache__fetch(struct page_cache *c, __u64 addr, unsigned cnt)
{
	char bytes[FETCH_MAX * PAGE];
	__u64 number = addr / PAGE;

	if (cnt > FETCH_MAX)
		cnt = FETCH_MAX;
	if (memory_read(c->from, number * PAGE, bytes, cnt * PAGE))
		return;
	for (unsigned i = 0; i < cnt; i++) {
		const unsigned place = place_of(number + i);

		c->numbers[place] = number + i + 1;
		c->used++;
		memcpy(c->bytes[place], bytes + i * PAGE, PAGE);
	}
}

void page_cache__clear(struct page_cache *c)
{
	memset(c->numbers, 0, sizeof(c->numbers));
	if (c->used <= KEPT_MAX)
		return;
	/* It stays allocated; if this fails, it stays in memory, too. */
	(void)!madvise(c->bytes, sizeof(*c->bytes) * PAGES, MADV_DONTNEED);
	c->used = 0;
}
