/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_pages.h - which pages of a process are in memory now; a prober lists them, krait reads the list. It has the chosen
 * ones (bpf/fault.h), and exact sums of all.
 *
 * Must hold: bounded time and memory, whatever the process has mapped; the reader takes only chosen pages, in order.
 */
#ifndef KRAIT_PROCESS_PROBE_PROBE_PAGES_H
#define KRAIT_PROCESS_PROBE_PROBE_PAGES_H

#include <linux/types.h>
#include <stdbool.h>

/* Most pages of one list: at a shift of 4 those of 64 GiB. */
#define PROBE_PAGES_MAX (1U << 20)
/* Most pages of address space that are asked about: 512 GiB without holes; where the kernel does not say those, 64 GiB. */
#define PROBE_PAGES_SPACE_MAX (1ULL << 27)
#define PROBE_PAGES_BLIND_MAX (1ULL << 24)
/* A list ends after that time. */
#define PROBE_PAGES_NS 1000000000ULL

enum probe_page_flag {
	PROBE_PAGE_SWAPPED = 1 << 0,
	PROBE_PAGE_FILE = 1 << 1, /* of a file, or shared */
	/* part of a huge page; without knows_kinds: all pages of its table are present */
	PROBE_PAGE_HUGE = 1 << 2,
};

static inline __u64 probe_page_number(__u64 page)
{
	return page >> 3;
}

struct probe_pages_head {
	__u32 cnt, shift; /* shift: larger than asked for if there were too many */
	__u8 page_shift;
	__u8 knows_kinds; /* the kernel tells huge pages, and the page of zeroes, from others */
	__u16 pad_;
	__u32 cut; /* not everything mapped was asked about */
	__u64 time_ns; /* CLOCK_MONOTONIC, before it was read */
	__u64 private, file,
		swapped; /* exact: pages in memory without a file; of one; swapped out */
};

struct probe_pages {
	struct probe_pages_head head;
	__u64 *pages; /* number << 3 | flags, rising */
	void *memory;
};

/* In a prober. dir: /proc/PID. Returns a descriptor of the list, or -errno. */
int probe_pages_list(int dir, __u32 shift) __attribute__((warn_unused_result));

/* In krait: as probe_tasks_read(). */
int probe_pages_read(int fd, struct probe_pages *ret) __attribute__((warn_unused_result, nonnull));
void probe_pages_free(struct probe_pages *l) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_PROBE_PROBE_PAGES_H */
