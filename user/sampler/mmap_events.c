/* SPDX-License-Identifier: BSD-2-Clause */
#include "sampler/mmap_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/privileges.h"

/* Of records of some 100 bytes: 300 of them, and a page for the kernel's counters. */
#define DATA_PAGES 8

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
	__u8 *data;
	__u64 size;
};

struct mmap_events {
	int epoll_fd;
	unsigned cnt;
	struct ring rings[];
};

static int open_event(int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	cleanup_loan struct privileges_loan loan = privileges_borrow(CAP_SYS_ADMIN);
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_ring(struct ring *r, int cpu)
{
	const __u64 page_size = (__u64)sysconf(_SC_PAGESIZE);
	void *at;

	r->fd = open_event(cpu);
	if (r->fd < 0)
		return r->fd;
	r->size = DATA_PAGES * page_size;
	at = mmap(NULL, r->size + page_size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (at == MAP_FAILED) {
		int err = -errno;

		close(r->fd);
		return err;
	}
	r->page = at;
	r->data = (__u8 *)at + page_size;
	return 0;
}

static int add_ring(struct mmap_events *e, int cpu)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct ring *r = &e->rings[e->cnt];
	int err = open_ring(r, cpu);

	/* A CPU that is not online has no processes. */
	if (err)
		return err == -ENODEV ? 0 : err;
	e->cnt++;
	return epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, r->fd, &event) ? -errno : 0;
}

struct mmap_events *mmap_events__new(void)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct mmap_events *e;
	int err = 0;

	e = calloc(1, sizeof(*e) + (size_t)(cpus > 0 ? cpus : 1) * sizeof(e->rings[0]));
	if (!e)
		return NULL;
	e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (e->epoll_fd < 0)
		err = -errno;
	for (int cpu = 0; cpu < cpus && !err; cpu++)
		err = add_ring(e, cpu);
	if (!err && e->cnt)
		return e;
	mmap_events__free(e);
	errno = err ? -err : ENODEV;
	return NULL;
}

void mmap_events__free(struct mmap_events *e)
{
	if (!e)
		return;
	for (unsigned i = 0; i < e->cnt; i++) {
		munmap(e->rings[i].page, e->rings[i].size + (__u64)sysconf(_SC_PAGESIZE));
		close(e->rings[i].fd);
	}
	if (e->epoll_fd >= 0)
		close(e->epoll_fd);
	free(e);
}

int mmap_events__fd(const struct mmap_events *e)
{
	return e->epoll_fd;
}

/* The bytes at a position, which may go on at the ring's beginning. */
static void copy(const struct ring *r, __u64 at, void *to, __u64 size)
{
	__u64 begin = at % r->size, first = r->size - begin < size ? r->size - begin : size;

	memcpy(to, r->data + begin, first);
	memcpy((__u8 *)to + first, r->data, size - first);
}

/* What a record of a mapping begins with (perf_event_open(2)). */
struct mapped {
	struct perf_event_header header;
	__u32 pid, tid;
};

static unsigned read_ring(struct ring *r, void (*mapped)(void *ctx, pid_t pid), void *ctx)
{
	__u64 head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	__u64 tail = r->page->data_tail;
	unsigned cnt = 0;
	__u32 last = 0;

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct mapped record = { 0 };

		copy(r, tail, &record.header, sizeof(record.header));
		if (record.header.size < sizeof(record.header) || record.header.size > head - tail)
			break;
		if (record.header.type == PERF_RECORD_MMAP &&
		    record.header.size >= sizeof(record)) {
			copy(r, tail, &record, sizeof(record));
			/* A program that starts maps several. */
			if (record.pid != last)
				mapped(ctx, (pid_t)record.pid);
			last = record.pid;
			cnt++;
		} else if (record.header.type == PERF_RECORD_LOST) {
			mapped(ctx, 0);
			cnt++;
		}
		tail += record.header.size;
	}
	__atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
	return cnt;
}

unsigned mmap_events__read(struct mmap_events *e, void (*mapped)(void *ctx, pid_t pid), void *ctx)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < e->cnt; i++)
		cnt += read_ring(&e->rings[i], mapped, ctx);
	return cnt;
}
