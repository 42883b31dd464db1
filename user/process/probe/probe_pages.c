/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/probe_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/fault.h"
#include "base/data/cleanup.h"
#include "base/data/vec.h"
#include "base/system/clock.h"
#include "process/probe/probe_list.h"
#include "process/proc/maps.h"

/* Documentation/admin-guide/mm/pagemap.rst. A page that was only read, and is all zeroes, counts as present. */
#define PM_PRESENT (1ULL << 63)
#define PM_SWAP (1ULL << 62)
#define PM_FILE (1ULL << 61)
/* MADV_GUARD_INSTALL, from Linux 6.15 on (fs/proc/task_mmu.c): PM_SWAP is set, too, but nothing is there. */
#define PM_GUARD (1ULL << 58)

/* Entries that one read gets. */
#define CHUNK 8192U

/*
 * The same for ranges, from Linux 6.7 on (include/uapi/linux/fs.h, which older headers lack).
 */
struct scan_range {
	__u64 start, end, kinds;
};
struct scan {
	__u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
	__u64 inverted, mask, any_mask, return_mask;
};
#define SCAN _IOWR('f', 16, struct scan)
#define SCAN_PRESENT (1U << 3)
#define SCAN_SWAPPED (1U << 4)
#define SCAN_ZERO (1U << 5) /* the page of zeroes that all share */
#define SCAN_HUGE (1U << 6)
#define SCAN_RANGES 512

/* ---- the list, in a prober -------------------------------------------------------------------- */

struct list {
	struct probe_pages_head head;
	int pagemap;
	__u32 cap, region; /* region: pages of one table */
	__u64 *pages;
	__u64 asked; /* pages of address space so far */
	__u64 until_ns; /* CLOCK_MONOTONIC */
	__u64 entries[CHUNK];
	__u8 kinds[CHUNK]; /* SCAN_*, of each */
	struct scan_range ranges[SCAN_RANGES];
};

/* Keeps the pages that are chosen at a larger shift, too. */
static void thin(struct list *l)
{
	__u32 kept = 0;

	l->head.shift++;
	for (__u32 i = 0; i < l->head.cnt; i++)
		if (fault_chooses(probe_page_number(l->pages[i]), l->head.shift))
			l->pages[kept++] = l->pages[i];
	l->head.cnt = kept;
}

static int add(struct list *l, __u64 page, __u64 flags)
{
	if (l->head.cnt == PROBE_PAGES_MAX)
		thin(l);
	if (!fault_chooses(page, l->head.shift))
		return 0;
	if (vec_reserve(l->pages, l->cap, l->head.cnt + 1))
		return -ENOMEM;
	l->pages[l->head.cnt++] = page << 3 | flags;
	return 0;
}

/* Which of these pages are huge, and which the shared page of zeroes, if the kernel says it. */
static void scan(struct list *l, __u64 page, size_t cnt)
{
	const __u32 shift = l->head.page_shift;
	struct scan s = { .size = sizeof(s),
			  .start = page << shift,
			  .end = (page + cnt) << shift,
			  .vec = (__u64)(unsigned long)l->ranges,
			  .vec_len = SCAN_RANGES,
			  .any_mask = SCAN_ZERO | SCAN_HUGE,
			  .return_mask = SCAN_ZERO | SCAN_HUGE };
	int n;

	memset(l->kinds, 0, cnt);
	while (l->head.knows_kinds && s.start < s.end) {
		n = ioctl(l->pagemap, SCAN, &s);
		l->head.knows_kinds = n >= 0;
		for (int i = 0; i < n; i++)
			for (__u64 at = l->ranges[i].start; at < l->ranges[i].end;
			     at += 1ULL << shift)
				if ((at >> shift) - page < cnt)
					l->kinds[(at >> shift) - page] = (__u8)l->ranges[i].kinds;
		if (s.walk_end <= s.start)
			break;
		s.start = s.walk_end;
	}
}

static int take_entry(struct list *l, __u64 page, __u64 entry, bool huge)
{
	__u64 flags = huge ? PROBE_PAGE_HUGE : 0;

	if (entry & PM_GUARD)
		return 0;
	if (entry & PM_SWAP) {
		l->head.swapped++;
		flags |= PROBE_PAGE_SWAPPED;
	} else if (!(entry & PM_PRESENT)) {
		return 0;
	} else if (entry & PM_FILE) {
		l->head.file++;
		flags |= PROBE_PAGE_FILE;
	} else {
		l->head.private ++;
	}
	return fault_chooses(page, l->head.shift) ? add(l, page, flags) : 0;
}

static bool is_full(const struct list *l, const __u64 *entries, size_t cnt)
{
	size_t present = 0;

	for (size_t i = 0; i < cnt; i++)
		present += (entries[i] & PM_PRESENT) != 0;
	return present == l->region;
}

/* Up to CHUNK pages from there; the first may be within a table. Returns how many, or -errno. */
static long take_chunk(struct list *l, __u64 page, __u64 cnt)
{
	__u64 want = CHUNK - page % l->region;
	ssize_t n;

	want = want < cnt ? want : cnt;
	n = pread(l->pagemap, l->entries, want * sizeof(*l->entries),
		  (off_t)(page * sizeof(*l->entries)));
	if (n <= 0)
		return n ? -errno : -ESRCH;
	n /= (ssize_t)sizeof(*l->entries);
	scan(l, page, (size_t)n);
	for (size_t i = 0, part; i < (size_t)n; i += part) {
		bool full;

		part = l->region - (page + i) % l->region;
		part = part < (size_t)n - i ? part : (size_t)n - i;
		full = !l->head.knows_kinds && is_full(l, l->entries + i, part);
		for (size_t k = i; k < i + part; k++)
			if (l->entries[k] & (PM_PRESENT | PM_SWAP) && !(l->kinds[k] & SCAN_ZERO) &&
			    take_entry(l, page + k, l->entries[k],
				       l->head.knows_kinds ? l->kinds[k] & SCAN_HUGE : full))
				return -ENOMEM;
	}
	return n;
}

/* The first page from there on with anything in it, if the kernel says it: what is merely reserved takes no time. */
static __u64 skip_hole(struct list *l, __u64 page, __u64 end)
{
	const __u32 shift = l->head.page_shift;
	struct scan s = { .size = sizeof(s),
			  .start = page << shift,
			  .end = end << shift,
			  .vec = (__u64)(unsigned long)l->ranges,
			  .vec_len = 1,
			  .max_pages = 1,
			  .any_mask = SCAN_PRESENT | SCAN_SWAPPED,
			  .return_mask = SCAN_PRESENT | SCAN_SWAPPED };
	int n = l->head.knows_kinds ? ioctl(l->pagemap, SCAN, &s) : -1;

	if (n < 0)
		l->head.knows_kinds = 0;
	else
		page = n ? l->ranges[0].start >> shift : end;
	return page;
}

/* Without that, each page of address space costs time. */
static __u64 space_left(const struct list *l)
{
	const __u64 max = l->head.knows_kinds ? PROBE_PAGES_SPACE_MAX : PROBE_PAGES_BLIND_MAX;

	if (clock_monotonic_ns() >= l->until_ns)
		return 0;
	return l->asked < max ? max - l->asked : 0;
}

static int take_mapping(struct list *l, const struct maps_line *m)
{
	const __u64 end = m->end >> l->head.page_shift;
	__u64 page = m->start >> l->head.page_shift;
	long n;

	/* The kernel's own, above what a file offset can name. */
	if (m->start >> 62)
		return 0;
	/* To look for what is there takes time, too. */
	if (l->head.knows_kinds && clock_monotonic_ns() >= l->until_ns) {
		l->head.cut = 1;
		return 0;
	}
	page = skip_hole(l, page, end);
	if (!l->head.knows_kinds && !(m->prot & ~MAPPING_SHARED))
		return 0; /* merely reserved, most likely */
	while (page < end) {
		const __u64 left = space_left(l);

		if (!left || (!l->head.knows_kinds && left < end - page)) {
			l->head.cut = 1;
			return 0;
		}
		n = take_chunk(l, page, end - page < left ? end - page : left);
		if (n < 0)
			return (int)n;
		l->asked += (__u64)n;
		page = skip_hole(l, page + (__u64)n, end);
	}
	return 0;
}

static int fill(struct list *l, int dir)
{
	cleanup_maps struct maps maps;
	struct maps_line m;
	int r = maps_open_at(&maps, dir);

	while (!r && (r = maps_next(&maps, &m)) > 0)
		r = take_mapping(l, &m);
	return r;
}

int probe_pages_list(int dir, __u32 shift)
{
	cleanup_free struct list *l = calloc(1, sizeof(*l));
	cleanup_close int fd = memfd_create("krait-pages", MFD_CLOEXEC);
	cleanup_close int pagemap = openat(dir, "pagemap", O_RDONLY | O_CLOEXEC);
	int r;

	if (pagemap < 0)
		return -errno;
	if (!l || fd < 0)
		return -ENOMEM;
	l->pagemap = pagemap;
	l->head.time_ns = clock_monotonic_ns();
	l->until_ns = l->head.time_ns + PROBE_PAGES_NS;
	l->head.shift = shift < FAULT_SHIFT_MAX ? shift : FAULT_SHIFT_MAX;
	l->head.page_shift = (__u32)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	l->head.knows_kinds = 1;
	l->region = 1U << (l->head.page_shift - 3);
	r = fill(l, dir);
	if (!r)
		r = probe_list_write(fd, &l->head, sizeof(l->head));
	if (!r)
		r = probe_list_write(fd, l->pages, l->head.cnt * sizeof(*l->pages));
	free(l->pages);
	return r ? r : take_fd(&fd);
}

/* ---- the same, in krait ----------------------------------------------------------------------- */

static bool is_sane(const struct probe_pages *l)
{
	if (l->head.shift > FAULT_SHIFT_MAX || l->head.page_shift < 12 || l->head.page_shift > 16)
		return false;
	if (l->head.private > PROBE_PAGES_SPACE_MAX || l->head.file > PROBE_PAGES_SPACE_MAX ||
	    l->head.swapped > PROBE_PAGES_SPACE_MAX)
		return false;
	for (__u32 i = 0; i < l->head.cnt; i++)
		if (!fault_chooses(probe_page_number(l->pages[i]), l->head.shift) ||
		    (i && probe_page_number(l->pages[i]) <= probe_page_number(l->pages[i - 1])))
			return false;
	return true;
}

int probe_pages_read(int fd, struct probe_pages *ret)
{
	size_t size;
	int r;

	*ret = (struct probe_pages){ .memory = NULL };
	r = probe_list_read(fd, &ret->head, sizeof(ret->head));
	if (r)
		return r;
	if (ret->head.cnt > PROBE_PAGES_MAX)
		return -EPROTO;
	size = sizeof(ret->head) + ret->head.cnt * sizeof(*ret->pages);
	ret->memory = malloc(size);
	if (!ret->memory)
		return -ENOMEM;
	ret->pages = (void *)((char *)ret->memory + sizeof(ret->head));
	r = probe_list_read(fd, ret->memory, size);
	if (!r && !is_sane(ret))
		r = -EPROTO;
	if (r)
		probe_pages_free(ret);
	return r;
}

void probe_pages_free(struct probe_pages *l)
{
	free(l->memory);
	*l = (struct probe_pages){ .memory = NULL };
}
