/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/probed.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/probe/prober.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"

/* Tens of thousands of tasks, or tens of GiB of pages, take some tenths of a second, on a busy machine several. */
#define TASKS_WAIT_NS (10 * NS_PER_SEC)

enum { DIR_FD, MEM_FD, FILE_FD };

struct probed {
	struct memory memory;
	struct prober *prober; /* borrowed */
	pid_t pid;
	__u64 start_ticks;
	bool opening; /* what follows is not known yet */
	bool opened;
	int fds[PROBE_FDS_MAX];
	struct py_process ids;
	struct context context;
	char *cgroups;
	int hung; /* 0, or why it is no longer read */

	/* The pending call. */
	bool busy;
	int result;
	void *buf; /* NULL: nobody waits for it any more */
	size_t size, len;
	int came; /* a descriptor; -1: none */

	struct probe_trail *trail; /* what reads are answered from (memory_expect()); NULL: nothing */
};

static int read_nothing(void *ctx, __u64 addr, void *buf, size_t len)
{
	return -ESRCH;
}

const struct memory probed_nothing = { .read = read_nothing };

/* ---- opening ---------------------------------------------------------------------------------- */

static void take_found(struct probed *p, const struct probe_found *found, const char *cgroups,
		       int fds[PROBE_FDS_MAX])
{
	p->ids = found->process;
	p->context = found->context;
	container_of_cgroup(p->context.cgroup, &p->context.container);
	p->cgroups = strdup(cgroups);
	for (unsigned i = 0; i < PROBE_FDS_MAX; i++)
		p->fds[i] = take_fd(&fds[i]);
	p->opened = true;
}

/* An answer from a channel: does it contain everything that a found process has? */
static bool is_whole(const void *data, size_t len)
{
	return data && len > offsetof(struct probe_found, cgroups) &&
	       len <= sizeof(struct probe_found) && !((const char *)data)[len - 1];
}

static void note_end(struct probed *p, int result)
{
	if (result == -ETIMEDOUT || result == -EIO)
		p->hung = -ETIMEDOUT;
	else if (result == -EUSERS)
		p->hung = result;
}

static void on_opened(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX])
{
	struct probed *p = ctx;
	const struct probe_found *found = data;

	p->opening = false;
	if (!result && is_whole(data, len))
		take_found(p, found, found->cgroups, fds);
	if (!data)
		note_end(p, result);
}

static int probed_read(void *ctx, __u64 addr, void *buf, size_t len);
static void probed_expect(void *ctx, __u64 addr, const struct memory_trail *trail);

static struct probed *make(struct prober *prober, pid_t pid, __u64 start_ticks)
{
	struct probed *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->memory = (struct memory){ .read = probed_read, .expect = probed_expect, .ctx = p };
	p->prober = prober;
	p->pid = pid;
	p->start_ticks = start_ticks;
	p->came = -1;
	for (unsigned i = 0; i < PROBE_FDS_MAX; i++)
		p->fds[i] = -1;
	return p;
}

struct probed *probed__open(struct prober *prober, pid_t pid, __u64 start_ticks,
			    struct probe_image image)
{
	struct probe_request r = {
		.op = PROBE_OPEN, .pid = pid, .start_ticks = start_ticks, .image = image
	};
	struct probed *p = make(prober, pid, start_ticks);
	int err;

	if (!p)
		return NULL;
	/* The prober that looks at processes may be allowed to open one for writing. */
	err = prober__ask(prober, PROBER_LATER, &r, NULL, 0, on_opened, p);
	p->opening = !err;
	note_end(p, err);
	if (!err)
		prober__step(prober); /* send it now: the process may be short-lived */
	return p;
}

struct probed *probed__new(struct prober *prober, const struct probe_found *found, size_t len,
			   int fds[PROBE_FDS_MAX])
{
	struct probed *p = make(prober, found->process.pid, found->process.start_ticks);

	if (p && is_whole(found, len))
		take_found(p, found, found->cgroups, fds);
	return p;
}

void probed__free(struct probed *p)
{
	if (!p)
		return;
	if (p->busy || p->opening)
		prober__forget(p->prober, p);
	for (unsigned i = 0; i < PROBE_FDS_MAX; i++)
		cleanup_close_(&p->fds[i]);
	cleanup_close_(&p->came);
	free(p->cgroups);
	free(p->trail);
	free(p);
}

/* ---- calls ------------------------------------------------------------------------------------ */

/* Waits until the flag is false, or waiting is pointless. */
static void wait_for(struct prober *prober, const void *ctx, const bool *flag, __u64 wait_ns)
{
	__u64 end_ns = clock_monotonic_ns() + wait_ns;

	while (*flag && !prober__is_slow(prober, ctx) && clock_monotonic_ns() < end_ns)
		prober__wait(prober, PROBER_PATIENCE_NS / 1000000);
}

/*
 * The same for an answer that takes long, while the caller has nothing else to do: waits even if the
 * prober is slow, until it hangs. One that reads a thousand threads sleeps now and then.
 */
static void wait_long_for(struct prober *prober, const bool *flag, __u64 wait_ns)
{
	__u64 end_ns = clock_monotonic_ns() + wait_ns;

	while (*flag && clock_monotonic_ns() < end_ns)
		prober__wait(prober, PROBER_PATIENCE_NS / 1000000);
}

/* Waits until it can be asked. Returns 0, -EAGAIN, -ETIMEDOUT, -EUSERS, -ESRCH. */
static int await_open(struct probed *p)
{
	if (p->opening && !prober__is_nested(p->prober))
		wait_for(p->prober, p, &p->opening, PROBER_WAIT_NS);
	if (p->hung)
		return p->hung;
	if (p->opening || p->busy)
		return -EAGAIN;
	return p->opened ? 0 : -ESRCH;
}

static void on_answer(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX])
{
	struct probed *p = ctx;

	p->busy = false;
	p->result = result;
	if (!data)
		note_end(p, result);
	if (!p->buf)
		return;
	p->len = len <= p->size ? len : 0;
	if (data && p->len)
		memcpy(p->buf, data, p->len);
	p->came = take_fd(&fds[FILE_FD]);
}

/*
 * Asks and waits. The answer is in buf, p->len bytes, and p->came. The request carries fd_cnt
 * descriptors, from fd on.
 */
static int call_with(struct probed *p, struct probe_request *r, unsigned fd, unsigned fd_cnt,
		     void *buf, size_t size)
{
	int err = await_open(p);

	if (err)
		return err;
	for (unsigned i = fd; i < fd + fd_cnt; i++)
		if (p->fds[i] < 0)
			return -EPERM;
	r->pid = p->pid;
	r->start_ticks = p->start_ticks;
	err = prober__ask(p->prober, PROBER_NOW, r, &p->fds[fd], fd_cnt, on_answer, p);
	if (err) {
		note_end(p, err);
		return err;
	}
	p->busy = true;
	p->buf = buf;
	p->size = size;
	p->len = 0;
	cleanup_close_(&p->came);
	p->came = -1;
	if (r->op == PROBE_TASKS || r->op == PROBE_GREENLETS || r->op == PROBE_PAGES)
		wait_long_for(p->prober, &p->busy, TASKS_WAIT_NS);
	else if (r->op == PROBE_THREADS)
		wait_long_for(p->prober, &p->busy, PROBER_LIST_WAIT_NS);
	else
		wait_for(p->prober, p, &p->busy, PROBER_WAIT_NS);
	p->buf = NULL;
	return p->busy ? -EAGAIN : p->result;
}

static int call(struct probed *p, struct probe_request *r, unsigned fd, void *buf, size_t size)
{
	return call_with(p, r, fd, 1, buf, size);
}

/* NULL: it has to be asked for. */
static const __u8 *find_read(const struct probe_trail *t, __u64 addr, size_t len)
{
	const __u8 *bytes = t ? t->bytes : NULL;

	for (unsigned i = 0; t && i <= MEMORY_TRAIL_MAX; bytes += t->pieces[i++].len)
		if (addr - t->pieces[i].addr < t->pieces[i].len &&
		    len <= t->pieces[i].len - (addr - t->pieces[i].addr))
			return bytes + (addr - t->pieces[i].addr);
	return NULL;
}

/* Are all pieces among the bytes that came? */
static bool is_whole_trail(const struct probe_trail *t, size_t len)
{
	__u64 room;

	if (len < offsetof(struct probe_trail, bytes))
		return false;
	room = len - offsetof(struct probe_trail, bytes);
	for (unsigned i = 0; i <= MEMORY_TRAIL_MAX; room -= t->pieces[i++].len)
		if (t->pieces[i].len > room)
			return false;
	return true;
}

static void probed_expect(void *ctx, __u64 addr, const struct memory_trail *trail)
{
	struct probe_request r = { .op = PROBE_TRAIL, .read.addr = addr };
	struct probed *p = ctx;

	cleanup_free_(&p->trail);
	p->trail = NULL;
	if (!trail)
		return;
	r.trail = *trail;
	p->trail = malloc(sizeof(*p->trail));
	if (p->trail &&
	    (call(p, &r, MEM_FD, p->trail, sizeof(*p->trail)) || !is_whole_trail(p->trail, p->len)))
		probed_expect(p, 0, NULL);
}

static int probed_read(void *ctx, __u64 addr, void *buf, size_t len)
{
	struct probed *p = ctx;
	const __u8 *have = find_read(p->trail, addr, len);

	if (have) {
		memcpy(buf, have, len);
		return 0;
	}
	for (size_t done = 0; done < len;) {
		size_t part = len - done < PROBE_READ_MAX ? len - done : PROBE_READ_MAX;
		struct probe_request r = { .op = PROBE_READ, .read = { addr + done, (__u32)part } };
		int err = call(p, &r, MEM_FD, (char *)buf + done, part);

		if (err)
			return err == -ETIMEDOUT || err == -EUSERS ? -EPERM : err;
		if (p->len != part)
			return -EFAULT;
		done += part;
	}
	return 0;
}

/* The descriptor that came with an answer, now the caller's; or err. */
static int came(struct probed *p, int err)
{
	if (!err)
		return take_fd(&p->came);
	cleanup_close_(&p->came);
	p->came = -1;
	return err;
}

/* Asks for what comes as a descriptor alone. Returns that, now the caller's, or -errno. */
static int ask_for_file(struct probed *p, struct probe_request *r, unsigned fd, unsigned fd_cnt)
{
	char none;
	int err = call_with(p, r, fd, fd_cnt, &none, sizeof(none));

	return came(p, err ? err : p->came < 0 ? -EPROTO : 0);
}

int probed__maps(struct probed *p, struct probe_maps *ret)
{
	struct probe_request r = { .op = PROBE_MAPS };
	cleanup_close int fd = ask_for_file(p, &r, DIR_FD, 1);

	*ret = (struct probe_maps){ 0 };
	return fd < 0 ? fd : probe_maps_read(fd, ret);
}

int probed__pages(struct probed *p, __u32 shift, struct probe_pages *ret)
{
	struct probe_request r = { .op = PROBE_PAGES, .pages_shift = shift };
	cleanup_close int fd = ask_for_file(p, &r, DIR_FD, 1);

	*ret = (struct probe_pages){ .memory = NULL };
	return fd < 0 ? fd : probe_pages_read(fd, ret);
}

int probed__threads(struct probed *p, const struct probe_threads_ask *ask,
		    struct probe_threads *ret)
{
	struct probe_request r = { .op = PROBE_THREADS, .threads = *ask };
	cleanup_close int fd = ask_for_file(p, &r, DIR_FD, 2);

	*ret = (struct probe_threads){ 0 };
	return fd < 0 ? fd : probe_threads_read(fd, ret);
}

int probed__tasks(struct probed *p, const struct probe_tasks_ask *ask, struct probe_tasks *ret)
{
	struct probe_request r = { .op = PROBE_TASKS, .tasks = *ask };
	cleanup_close int fd = ask_for_file(p, &r, MEM_FD, 1);

	*ret = (struct probe_tasks){ .memory = NULL };
	return fd < 0 ? fd : probe_tasks_read(fd, ret);
}

int probed__greenlets(struct probed *p, const struct probe_tasks_ask *ask, struct probe_tasks *ret)
{
	struct probe_request r = { .op = PROBE_GREENLETS, .tasks = *ask };
	cleanup_close int fd = ask_for_file(p, &r, DIR_FD, 2);

	*ret = (struct probe_tasks){ .memory = NULL };
	return fd < 0 ? fd : probe_tasks_read(fd, ret);
}

int probed__published(struct probed *p, __u32 version, __u64 runtime_addr, struct published *ret)
{
	struct probe_request r = { .op = PROBE_PUBLISHED, .published = { version, runtime_addr } };
	int err = call_with(p, &r, DIR_FD, 0, ret, sizeof(*ret));

	return err || p->len == sizeof(*ret) ? err : -EPROTO;
}

int probed__open_mapped(struct probed *p, const struct probe_mapping *m, __u64 inode,
			const char *name, struct probe_file *ret)
{
	struct probe_request r = { .op = PROBE_FILE,
				   .file = { .start = m->start, .end = m->end, .inode = inode } };
	int err;

	/* If the name does not fit, use the mapping's own link. */
	if (strlen(name) < sizeof(r.file.path))
		snprintf(r.file.path, sizeof(r.file.path), "%s", name);
	err = call(p, &r, DIR_FD, ret, sizeof(*ret));
	if (!err && (p->len != sizeof(*ret) || p->came < 0))
		err = -EPROTO;
	return came(p, err);
}

int probed__open_debug(struct probed *p, const __u8 *build_id, size_t size, uid_t owner)
{
	struct probe_request r = { .op = PROBE_DEBUG, .debug = { .owner = owner } };

	if (size > sizeof(r.debug.build_id))
		return -EINVAL;
	memcpy(r.debug.build_id, build_id, size);
	r.debug.size = (__u32)size;
	return ask_for_file(p, &r, DIR_FD, 1);
}

/* ---- what is known of it ---------------------------------------------------------------------- */

const struct memory *probed__memory(const struct probed *p)
{
	return &p->memory;
}

const struct py_process *probed__ids(struct probed *p, bool wait)
{
	if (wait && p->opening && !prober__is_nested(p->prober))
		wait_for(p->prober, p, &p->opening, PROBER_WAIT_NS);
	return p->opened ? &p->ids : NULL;
}

const struct context *probed__context(struct probed *p, bool wait, const char **ret_cgroups)
{
	if (!probed__ids(p, wait))
		return NULL;
	if (ret_cgroups)
		*ret_cgroups = p->cgroups ? p->cgroups : "";
	return &p->context;
}

bool probed__is_opening(const struct probed *p)
{
	return p->opening;
}

const char *probed__refused(const struct probed *p)
{
	if (!p->hung)
		return NULL;
	return p->hung == -EUSERS ? PROBED_OWNER_REFUSED : PROBED_HUNG;
}

int probed__dir(const struct probed *p)
{
	return p->fds[DIR_FD];
}

int probed__mem(const struct probed *p)
{
	return p->fds[MEM_FD];
}

int probed__file(const struct probed *p)
{
	return p->fds[FILE_FD];
}

void probed__close_file(struct probed *p)
{
	cleanup_close_(&p->fds[FILE_FD]);
	p->fds[FILE_FD] = -1;
}
