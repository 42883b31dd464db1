/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page_cache.h - memory of which each page is read once: for many small reads close together. What
 * was read stays the same until page_cache__clear(), which gives back most of the memory.
 */
#ifndef KRAIT_PROCESS_MEMORY_PAGE_CACHE_H
#define KRAIT_PROCESS_MEMORY_PAGE_CACHE_H

#include "base/data/memory.h"

struct page_cache;

/* *from is borrowed. NULL: out of memory. */
struct page_cache *page_cache__new(const struct memory *from) __attribute__((warn_unused_result));
void page_cache__free(struct page_cache *c);

const struct memory *page_cache__memory(const struct page_cache *c) __attribute__((nonnull));
/* Reads that many pages from addr on at once, if they are all readable: they will be needed. */
void page_cache__fetch(struct page_cache *c, __u64 addr, unsigned cnt) __attribute__((nonnull));
void page_cache__clear(struct page_cache *c) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_MEMORY_PAGE_CACHE_H */
