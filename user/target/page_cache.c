/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/page_cache.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 4096ULL
#define PAGES 256
/* Pages to read at once. */
#define FETCH_MAX 8U

struct page {
	__u64 number; /* number of the page + 1; 0: none */
	char bytes[PAGE];
};

struct page_cache {
	const struct memory *from;
	struct memory memory;
	struct page pages[PAGES];
};

/* Neither neighbours nor addresses a power of two apart collide. */
static struct page *place_of(struct page_cache *c, __u64 number)
{
	return &c->pages[(number ^ number >> 8 ^ number >> 16) % PAGES];
}

/* Reads bytes of one page. */
static int read_part(struct page_cache *c, __u64 addr, void *buf, size_t len)
{
	const __u64 number = addr / PAGE;
	struct page *p = place_of(c, number);

	if (p->number != number + 1) {
		p->number = 0;
		/* A page that cannot be read as a whole, perhaps because its file was truncated. */
		if (memory_read(c->from, number * PAGE, p->bytes, PAGE))
			return memory_read(c->from, addr, buf, len);
		p->number = number + 1;
	}
	memcpy(buf, p->bytes + addr % PAGE, len);
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
	c->from = from;
	c->memory = (struct memory){ .read = read_cached, .ctx = c };
	return c;
}

void page_cache__free(struct page_cache *c)
{
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
		struct page *p = place_of(c, number + i);

		p->number = number + i + 1;
		memcpy(p->bytes, bytes + i * PAGE, PAGE);
	}
}

void page_cache__clear(struct page_cache *c)
{
	for (int i = 0; i < PAGES; i++)
		c->pages[i].number = 0;
}
