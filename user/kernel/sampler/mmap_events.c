/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/sampler/mmap_events.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/sampler/cpus.h"
#include "base/data/cleanup.h"
#include "base/text/log.h"
#include "base/system/privileges.h"
#include "base/data/vec.h"

/* Room for about 300 records of some 100 bytes; the kernel's counters take another page. */
#define DATA_PAGES 8
/* The longest record: of a file with the longest path. */
#define RECORD_MAX (PATH_MAX + 128U)

struct ring {
	int cpu, fd;
	struct perf_event_mmap_page *page;
	__u8 *data;
	__u64 size;
};

struct mmap_events {
	int epoll_fd;
	unsigned cnt, cap;
	struct ring *rings;
	bool lost; /* a CPU was in use before it had a ring */
	bool deaf; /* one is, and cannot have one */
	bool incomplete; /* one has none: asked for again at the next look */
	char online[CPU_LIST_MAX]; /* the list last acted on */
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

static void close_ring(struct ring *r)
{
	munmap(r->page, r->size + (__u64)sysconf(_SC_PAGESIZE));
	close(r->fd);
}

static int add_ring(struct mmap_events *e, int cpu)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct ring *r;
	int err = vec_reserve(e->rings, e->cap, e->cnt + 1);

	if (err)
		return err;
	r = &e->rings[e->cnt];
	r->cpu = cpu;
	err = open_ring(r, cpu);
	if (err)
		return err;
	if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, r->fd, &event)) {
		err = -errno;
		close_ring(r);
		return err;
	}
	e->cnt++;
	return 0;
}

static bool has_ring(const struct mmap_events *e, int cpu)
{
	for (unsigned i = 0; i < e->cnt; i++) {
		if (e->rings[i].cpu == cpu)
			return true;
	}
	return false;
}

/*
 * A CPU that is just coming online is in the list before it can have events (-ENODEV): that is no error, but it may
 * already run processes.
 */
static int add_rings(struct mmap_events *e, const int *cpus, int cnt)
{
	int first_err = 0;

	e->incomplete = false;
	for (int i = 0; i < cnt; i++) {
		int err;

		if (has_ring(e, cpus[i]))
			continue;
		err = add_ring(e, cpus[i]);
		e->lost = true;
		e->incomplete |= err;
		if (err && err != -ENODEV && !first_err)
			first_err = err;
	}
	return first_err;
}

/* An event is not restored when its CPU comes back. Records not handed out yet are lost. */
static void drop_gone(struct mmap_events *e, const int *cpus, int cnt)
{
	for (unsigned i = e->cnt; i-- > 0;) {
		if (cpus_have(cpus, cnt, e->rings[i].cpu))
			continue;
		close_ring(&e->rings[i]);
		e->rings[i] = e->rings[--e->cnt];
		e->lost = true;
	}
}

void mmap_events__set_cpus(struct mmap_events *e, const int *cpus, int cnt)
{
	int err;

	drop_gone(e, cpus, cnt);
	err = add_rings(e, cpus, cnt);
	if (err && !e->deaf)
		log_warn("mmap_events",
			 "krait finds code late that is mapped on a CPU brought online "
			 "during the recording: %s",
			 strerror(-err));
	e->deaf = err;
}

void mmap_events__follow_cpus(struct mmap_events *e)
{
	cleanup_free int *cpus = NULL;
	char online[CPU_LIST_MAX];
	int cnt;

	if (cpus_read_online(online) || (!strcmp(online, e->online) && !e->incomplete))
		return;
	cpus = calloc(CPUS_MAX, sizeof(*cpus));
	cnt = cpus ? cpus_online(e->online, cpus, CPUS_MAX) : -ENOMEM;
	if (cnt > 0)
		mmap_events__set_cpus(e, cpus, cnt);
}

struct mmap_events *mmap_events__new(void)
{
	cleanup_free int *cpus = calloc(CPUS_MAX, sizeof(*cpus));
	struct mmap_events *e = calloc(1, sizeof(*e));
	int cnt, err;

	if (!e || !cpus) {
		free(e);
		errno = ENOMEM;
		return NULL;
	}
	e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	cnt = e->epoll_fd < 0 ? -errno : cpus_online(e->online, cpus, CPUS_MAX);
	err = cnt < 0 ? cnt : add_rings(e, cpus, cnt);
	/* Earlier mappings are read from the processes. */
	e->lost = false;
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
	for (unsigned i = 0; i < e->cnt; i++)
		close_ring(&e->rings[i]);
	free(e->rings);
	if (e->epoll_fd >= 0)
		close(e->epoll_fd);
	free(e);
}

int mmap_events__fd(const struct mmap_events *e)
{
	return e->epoll_fd;
}

/* Copies bytes from a position; they may wrap around to the ring's beginning. */
static void copy(const struct ring *r, __u64 at, void *to, __u64 size)
{
	__u64 begin = at % r->size, first = r->size - begin < size ? r->size - begin : size;

	memcpy(to, r->data + begin, first);
	memcpy((__u8 *)to + first, r->data, size - first);
}

/* The start of a mapping record (perf_event_open(2)). */
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

	/* The kernel reports a loss only with the next record, which may never come. */
	if (head - tail > r->size - RECORD_MAX) {
		mapped(ctx, 0);
		cnt++;
	}
	while (head - tail >= sizeof(struct perf_event_header)) {
		struct mapped record = { 0 };

		copy(r, tail, &record.header, sizeof(record.header));
		if (record.header.size < sizeof(record.header) || record.header.size > head - tail)
			break;
		if (record.header.type == PERF_RECORD_MMAP &&
		    record.header.size >= sizeof(record)) {
			copy(r, tail, &record, sizeof(record));
			/* A starting program maps several files. */
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
	unsigned cnt = e->lost;

	if (e->lost || e->deaf)
		mapped(ctx, 0);
	e->lost = false;
	for (unsigned i = 0; i < e->cnt; i++)
		cnt += read_ring(&e->rings[i], mapped, ctx);
	return cnt;
}
