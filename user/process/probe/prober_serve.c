/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/prober_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "process/elf/debug_file.h"
#include "process/identify/elf_cache.h"
#include "process/parser/elf_facts.h"
#include "process/identify/greenlet_place.h"
#include "process/memory/mapped_image.h"
#include "process/proc/mapping_at.h"
#include "process/proc/maps.h"
#include "process/proc/open_file.h"
#include "process/probe/probe.h"
#include "process/probe/probe_greenlets.h"
#include "process/probe/probe_maps.h"
#include "process/probe/probe_pages.h"
#include "process/proc/proc.h"
#include "process/identify/published_find.h"
#include "process/memory/remote.h"
#include "base/data/cleanup.h"
#include "base/worker/rights.h"

/* ---- probe anchor ------------------------------------------------------------------------------ */

/*
 * The one write: eight bytes of a thread state, in a prober.
 *
 * Must hold: nothing is written unless the program image is the one that was identified (the
 * descriptor guarantees it), its credentials have not changed, the thread state still belongs to
 * the same thread and interpreter, and the bytes are in a private writable mapping: the descriptor
 * would write through read-only pages.
 */

static bool has_same_credentials(int dir, __u64 digest)
{
	struct proc_ids ids;

	return digest && !proc_ids_at(dir, &ids) && ids.digest == digest;
}

static __u64 field(const __u8 *window, __s32 offset)
{
	__u64 value;

	memcpy(&value, window + offset, sizeof(value));
	return value;
}

static bool is_in_window(__s32 offset)
{
	return offset >= 0 && offset <= KRAIT_THREAD_WINDOW - 8;
}

static int read_thread(const struct probe_anchor *a, int mem, struct probe_anchor_state *ret)
{
	__u8 window[KRAIT_THREAD_WINDOW];
	int r;

	if (!is_in_window(a->thread_id) || !is_in_window(a->interp) ||
	    !is_in_window(a->last_profiled_frame) || !is_in_window(a->last_profiled_frame_seq))
		return -EINVAL;
	r = remote_read_fd(mem, a->tstate_addr, window, sizeof(window));
	if (r)
		return r;
	if (field(window, a->thread_id) != a->thread_ptr ||
	    field(window, a->interp) != a->interp_addr)
		return -ESTALE;
	ret->lpf_addr = field(window, a->last_profiled_frame);
	ret->seq = field(window, a->last_profiled_frame_seq);
	return 0;
}

static int write_word(int mem, __u64 addr, __u64 value)
{
	ssize_t n = pwrite(mem, &value, sizeof(value), (off_t)addr);

	if (n < 0)
		return errno == EIO ? -EFAULT : errno == EBADF ? -EPERM : -errno;
	return n == sizeof(value) ? 0 : n == 0 ? -ESRCH : -EFAULT;
}

/*
 * Reads the thread state through mem, which was opened when the process was identified, and writes
 * if requested. dir: of the same process. Returns 0; -EBUSY: another's value is there (*ret is
 * filled); and
 *  -ESTALE  the thread state belongs to another thread by now
 *  -EPERM   it may not be written: its credentials have changed, or that memory is not private and
 *  writable
 *  -ESRCH, -EFAULT  gone
 */
static int probe_anchor_access(const struct probe_anchor *a, int dir, int mem, bool write,
			       struct probe_anchor_state *ret)
{
	__u64 addr = a->tstate_addr + (__u64)a->last_profiled_frame;
	int r;

	if (a->tstate_addr > LLONG_MAX - KRAIT_THREAD_WINDOW)
		return -EFAULT;
	/* The slow checks come first; the look at the thread state right before the write. */
	if (write && (!has_same_credentials(dir, a->creds_digest) ||
		      !mapping_is_private_and_writable(dir, addr, sizeof(__u64))))
		return -EPERM;
	r = read_thread(a, mem, ret);
	if (r || !write)
		return r;
	if (!a->foreign_ok && ret->lpf_addr)
		return -EBUSY;
	return write_word(mem, addr, a->frame_addr);
}

/* ---- prober serve ------------------------------------------------------------------------------ */

/*
 * Rights to read any process's memory, any user's files, and mapped files whatever became of their
 * names. Used only during one open: nothing less opens /proc/PID/mem of another user for writing.
 */
#define RIGHTS                                                                                     \
	(RIGHTS_BIT(CAP_SYS_PTRACE) | RIGHTS_BIT(CAP_DAC_READ_SEARCH) |                            \
	 RIGHTS_BIT(CAP_CHECKPOINT_RESTORE))
#define RIGHTS_FOR_MOMENTS RIGHTS_BIT(CAP_DAC_OVERRIDE)

/* After this long without a request it closes the files that it holds. */
#define IDLE_MS 60000
#define PAGE_SIZE 4096

struct server {
	int channel;
	bool settled; /* it has only its own rights */
	struct elf_cache *cache; /* created on first use */
	struct names_reader *names; /* likewise */
	struct probe_message answer;
	int fds[PROBE_FDS_MAX]; /* to be sent and then closed; -1: none */
};

static void take_fds(struct server *s, const struct py_process_fds *fds)
{
	s->fds[0] = fds->dir;
	s->fds[1] = fds->mem;
	s->fds[2] = fds->file;
}

/* Is it the intended process? */
static int check_start(const struct probe_request *r, int result, const struct py_process *p)
{
	return result != -ESRCH && r->start_ticks && r->start_ticks != p->start_ticks ? -ESRCH :
											result;
}

/*
 * Has it executed something else since it was that image, or is it about to (it has no stack then)?
 * Then what was just read may be another program's. Where that cannot be seen (0) it is believed.
 */
static bool is_replaced(int dir, __u64 image_addr)
{
	struct proc_stat now;

	return image_addr && (proc_stat_at(dir, &now) || now.start_stack != image_addr);
}

/* If it is not known which image it was, at least an interpreter must be there. */
static bool has_runtime(const struct probe_request *r, int mem)
{
	__u64 word;

	return r->image.image_addr || !r->image.runtime_addr || mem < 0 ||
	       !remote_read_fd(mem, r->image.runtime_addr, &word, sizeof(word));
}

/* Opens /proc/PID of a request that goes by pid: of the intended process, and its intended image. */
static int open_image(const struct probe_request *r)
{
	cleanup_close int dir = proc_open_started(r->pid, r->start_ticks);

	if (dir < 0)
		return dir;
	return is_replaced(dir, r->image.image_addr) ? -ESTALE : take_fd(&dir);
}

static void add_context(struct probe_found *found, int dir, bool alone)
{
	context_read_at(dir, alone, &found->context, found->cgroups);
	found->context.container.runtime = NULL;
}

static void add_info(struct probe_found *found, pid_t pid)
{
	cleanup_close int dir = proc_open(pid);

	found->has_info = dir >= 0 && !process_info_read_at(dir, pid, &found->info);
}

static void say_alive(void *ctx)
{
	const struct server *s = ctx;
	const struct probe_answer alive = { .op = PROBE_ALIVE };

	/* If krait does not take it, it is busy, or gone. */
	if (channel_send(s->channel, &alive, sizeof(alive), NULL, 0))
		return;
}

static bool make_cache(struct server *s)
{
	s->cache = elf_cache__new();
	if (s->cache)
		elf_facts__on_wait(elf_cache__facts(s->cache), say_alive, s);
	return s->cache;
}

static int answer_identify(struct server *s, const struct probe_request *r, bool python)
{
	struct probe_found *found = &s->answer.found;
	struct py_process_fds fds = PY_PROCESS_NO_FDS;
	int result = -ENOMEM;

	memset(found, 0, sizeof(*found));
	if (!s->cache)
		make_cache(s);
	if (!python)
		result = py_process_open(r->pid, &found->process, &fds);
	else if (s->cache)
		result = py_process_identify_fds(r->pid, s->cache, &found->process, &fds);
	result = check_start(r, result, &found->process);
	if (!result && !python && !has_runtime(r, fds.mem))
		result = -ESTALE;
	if (!result)
		add_context(found, fds.dir,
			    python ? py_process_is_alone(&found->process) : r->image.alone);
	if (!result &&
	    is_replaced(fds.dir, !python && r->image.image_addr ? r->image.image_addr :
								  found->process.image_addr))
		result = -ESTALE;
	if (r->want_info)
		add_info(found, r->pid);
	if (result)
		py_process_fds_close(&fds);
	take_fds(s, &fds);
	s->answer.head.len = sizeof(found->process);
	if (!result || found->has_info)
		s->answer.head.len = offsetof(struct probe_found, cgroups) +
				     strnlen(found->cgroups, sizeof(found->cgroups) - 1) + 1;
	return result;
}

static int answer_read(struct server *s, const struct probe_request *r, int mem)
{
	int result;

	if (r->read.len > PROBE_READ_MAX)
		return -EINVAL;
	result = remote_read_fd(mem, r->read.addr, s->answer.bytes, r->read.len);
	s->answer.head.len = result ? 0 : r->read.len;
	return result;
}

static int answer_trail(struct server *s, const struct probe_request *r, int mem)
{
	struct probe_trail *t = &s->answer.trail;
	__u64 used = r->trail.len, addr;
	int err;

	memset(t->pieces, 0, sizeof(t->pieces));
	t->pieces[0].addr = r->read.addr;
	t->pieces[0].len = used;
	if (used > sizeof(t->bytes) || r->trail.cnt > MEMORY_TRAIL_MAX)
		return -EINVAL;
	err = remote_read_fd(mem, r->read.addr, t->bytes, used);
	if (err)
		return err;
	for (__u32 i = 0; i < r->trail.cnt; i++) {
		__u64 size = r->trail.to[i].size;

		if (r->trail.to[i].offset + sizeof(addr) > r->trail.len ||
		    size > sizeof(t->bytes) - used)
			return -EINVAL;
		memcpy(&addr, t->bytes + r->trail.to[i].offset, sizeof(addr));
		/* What is readable may end with its page. */
		if (remote_read_fd(mem, addr, t->bytes + used, size)) {
			size = PAGE_SIZE - addr % PAGE_SIZE < size ? PAGE_SIZE - addr % PAGE_SIZE :
								     0;
			if (!size || remote_read_fd(mem, addr, t->bytes + used, size))
				continue;
		}
		t->pieces[1 + i].addr = addr;
		t->pieces[1 + i].len = size;
		used += size;
	}
	s->answer.head.len = (__u32)(offsetof(struct probe_trail, bytes) + used);
	return 0;
}

static int open_link(int dir, __u64 start, __u64 end, struct stat *st)
{
	char name[64];

	snprintf(name, sizeof(name), "map_files/%llx-%llx", start, end);
	return open_file_at(dir, name, st);
}

/*
 * The mapping has become smaller since it was listed: where a library's parts are 64 KiB apart, as on arm64, the loader
 * maps all of it as code, and then takes away what is between them.
 */
static int open_smaller(const struct probe_request *r, int dir, struct stat *st)
{
	cleanup_maps struct maps maps = { .fd = -1 };
	struct maps_line m;

	if (!r->file.inode || maps_open_at(&maps, dir))
		return -ENOENT;
	while (maps_next_code(&maps, &m) > 0)
		if (m.inode == r->file.inode && m.start <= r->file.start && m.end > r->file.start)
			return open_link(dir, m.link_start, m.link_end, st);
	return -ENOENT;
}

/*
 * Opens the file itself, even if deleted or in another namespace; else by its name in the process's
 * root, or in ours if the process has gone. The requester must check that it is the right file.
 */
static int open_mapped(const struct probe_request *r, int dir, struct stat *st)
{
	cleanup_close int root = -1;
	int fd = open_link(dir, r->file.start, r->file.end, st);

	if (fd == -ENOENT)
		fd = open_smaller(r, dir, st);
	if (fd >= 0 || fd == -ENOEXEC)
		return fd;
	root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 && (errno == ESRCH || errno == ENOENT))
		root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = open_file_below(root, r->file.path, st);
	if (fd < 0 || !r->file.inode || st->st_ino == r->file.inode)
		return fd;
	close(fd);
	return -ESTALE;
}

/*
 * The file as the process's memory has it, if its list of mappings says that it is the same: remote,
 * since the process decides when a read of its memory ends, and belonging to nobody who is trusted.
 */
static int answer_image(struct server *s, const struct probe_request *r, int dir, int err)
{
	cleanup_remote struct remote *remote = remote__open_at(dir, false);
	__u64 budget = MAPPED_IMAGE_MAX;
	struct stat st;

	if (!remote)
		return err;
	s->fds[2] = mapped_image(dir, remote__memory(remote), r->file.start, &budget);
	if (s->fds[2] < 0 || fstat(s->fds[2], &st))
		return err;
	s->answer.file = (struct probe_file){ file_id_of(&st), true };
	s->answer.head.len = sizeof(s->answer.file);
	return 0;
}

static int answer_file(struct server *s, const struct probe_request *r, int dir)
{
	cleanup_close int fd = -1;
	struct stat st;

	if (!memchr(r->file.path, '\0', sizeof(r->file.path)))
		return -EINVAL;
	fd = open_mapped(r, dir, &st);
	if (fd >= 0)
		s->fds[2] = open_file_read(fd);
	if (fd < 0 || s->fds[2] < 0)
		return fd == -ENOEXEC ? fd : answer_image(s, r, dir, fd < 0 ? fd : s->fds[2]);
	s->answer.file = (struct probe_file){ file_id_of(&st), open_file_is_remote(fd) };
	s->answer.head.len = sizeof(s->answer.file);
	return 0;
}

static int answer_debug(struct server *s, const struct probe_request *r, int dir)
{
	char root[64];

	if (r->debug.size > sizeof(r->debug.build_id))
		return -EINVAL;
	snprintf(root, sizeof(root), "/proc/self/fd/%d/root", dir);
	s->fds[2] = debug_file_open(root, r->debug.build_id, r->debug.size, r->debug.owner);
	return s->fds[2] < 0 ? s->fds[2] : 0;
}

static int answer_maps(struct server *s, int dir)
{
	s->fds[2] = probe_maps_list(dir);
	return s->fds[2] < 0 ? s->fds[2] : 0;
}

static int answer_pages(struct server *s, const struct probe_request *r, int dir)
{
	s->fds[2] = probe_pages_list(dir, r->pages_shift);
	return s->fds[2] < 0 ? s->fds[2] : 0;
}

static int answer_threads(struct server *s, const struct probe_request *r, int dir, int mem)
{
	s->fds[2] = probe_threads_list(dir, mem, &r->threads, say_alive, s);
	return s->fds[2] < 0 ? s->fds[2] : 0;
}

static int answer_tasks(struct server *s, const struct probe_request *r, int mem)
{
	s->fds[2] = probe_tasks_list(mem, &r->tasks);
	return s->fds[2] < 0 ? s->fds[2] : 0;
}

static int answer_greenlets(struct server *s, const struct probe_request *r, int dir, int mem)
{
	s->fds[2] = probe_greenlets_list(dir, mem, &r->tasks);
	return s->fds[2] < 0 ? s->fds[2] : 0;
}

static int answer_anchor(struct server *s, const struct probe_request *r, int dir, int mem)
{
	int result = probe_anchor_access(&r->anchor, dir, mem, r->op == PROBE_ANCHOR_WRITE,
					 &s->answer.anchor);

	s->answer.head.len = result && result != -EBUSY ? 0 : sizeof(s->answer.anchor);
	return result;
}

static int answer_claims(struct server *s, const struct probe_request *r)
{
	cleanup_close int dir = open_image(r);
	int result = dir < 0 ? dir : claims_read_at(dir, &s->answer.claims);

	if (!result && is_replaced(dir, r->image.image_addr))
		result = -ESTALE;
	s->answer.head.len = result ? 0 : sizeof(s->answer.claims);
	return result;
}

static int answer_published(struct server *s, const struct probe_request *r)
{
	cleanup_close int dir = open_image(r);
	int result = dir < 0 ? dir : 0;

	if (!result && !s->cache && !make_cache(s))
		result = -ENOMEM;
	if (!result)
		result = published_find(dir, r->published.version, r->published.runtime_addr,
					elf_cache__facts(s->cache), &s->answer.published);
	s->answer.head.len = result ? 0 : sizeof(s->answer.published);
	return result;
}

static int answer_greenlet_place(struct server *s, const struct probe_request *r)
{
	cleanup_close int dir = open_image(r);
	cleanup_remote struct remote *remote = dir < 0 ? NULL : remote__open_at(dir, false);
	int result = dir < 0 ? dir : remote ? 0 : -errno;

	if (!result)
		result = greenlet_place_find(dir, remote__memory(remote), &r->tasks.offsets,
					     r->tasks.runtime_addr, &s->answer.greenlet_place);
	s->answer.head.len = result ? 0 : sizeof(s->answer.greenlet_place);
	return result;
}

static int answer_names(struct server *s, const struct probe_request *r, int dir, int mem)
{
	struct probe_names *names = &s->answer.names;
	int result = -ENOMEM;

	if (!s->names)
		s->names = names_reader__new();
	if (s->names)
		result = names_reader__read(s->names, dir, mem, &r->tasks.offsets,
					    r->tasks.runtime_addr, &r->names, names);
	s->answer.head.len = result ? 0 : probe_names_size(names->cnt);
	return result;
}

static int answer_source(struct server *s, const struct probe_request *r, int dir, int mem)
{
	s->fds[2] = probe_source(dir, mem, &r->tasks.offsets, r->tasks.runtime_addr, &r->source,
				 &s->answer.source);
	if (s->fds[2] >= 0 && is_replaced(dir, r->image.image_addr)) {
		cleanup_close_(&s->fds[2]);
		return -ESTALE;
	}
	s->answer.head.len = s->fds[2] < 0 ? 0 : sizeof(s->answer.source);
	return s->fds[2] < 0 ? s->fds[2] : 0;
}

/*
 * The process's folder, if the thread whose folder was handed over has ended and others have not;
 * else -1. The process must still be the one that was meant.
 */
static int other_folder(const struct probe_request *r, int dir)
{
	struct proc_stat stat;
	int other = -1;

	if (proc_stat_at(dir, &stat) || proc_has_ended(&stat))
		other = r->start_ticks ? proc_open_started(r->pid, r->start_ticks) : -1;
	return other;
}

static int answer_by_folder(struct server *s, const struct probe_request *r, const int *fds,
			    unsigned fd_cnt)
{
	const unsigned wanted = r->op == PROBE_GREENLETS || r->op == PROBE_THREADS ? 2 : 1;
	cleanup_close int other = fd_cnt ? other_folder(r, fds[0]) : -1;
	int dir = other >= 0 ? other : fd_cnt ? fds[0] : -1;

	if (fd_cnt != wanted)
		return -EINVAL;
	switch (r->op) {
	case PROBE_MAPS:
		return answer_maps(s, dir);
	case PROBE_FILE:
		return answer_file(s, r, dir);
	case PROBE_DEBUG:
		return answer_debug(s, r, dir);
	case PROBE_PAGES:
		return answer_pages(s, r, dir);
	case PROBE_THREADS:
		return answer_threads(s, r, dir, fds[1]);
	default:
		return answer_greenlets(s, r, dir, fds[1]);
	}
}

static int answer(struct server *s, const struct probe_request *r, const int *fds, unsigned fd_cnt)
{
	switch (r->op) {
	case PROBE_IDENTIFY:
	case PROBE_OPEN:
		return answer_identify(s, r, r->op == PROBE_IDENTIFY);
	case PROBE_PREPARE:
		return 0;
	case PROBE_PUBLISHED:
		return answer_published(s, r);
	case PROBE_READ:
		return fd_cnt == 1 ? answer_read(s, r, fds[0]) : -EINVAL;
	case PROBE_TRAIL:
		return fd_cnt == 1 ? answer_trail(s, r, fds[0]) : -EINVAL;
	case PROBE_MAPS:
	case PROBE_FILE:
	case PROBE_DEBUG:
	case PROBE_PAGES:
	case PROBE_THREADS:
	case PROBE_GREENLETS:
		return answer_by_folder(s, r, fds, fd_cnt);
	case PROBE_CLAIMS:
		return answer_claims(s, r);
	case PROBE_TASKS:
		return fd_cnt == 1 ? answer_tasks(s, r, fds[0]) : -EINVAL;
	case PROBE_NAMES:
		return fd_cnt == 2 ? answer_names(s, r, fds[0], fds[1]) : -EINVAL;
	case PROBE_SOURCE:
		return fd_cnt == 2 ? answer_source(s, r, fds[0], fds[1]) : -EINVAL;
	case PROBE_GREENLET_PLACE:
		return answer_greenlet_place(s, r);
	case PROBE_ANCHOR_READ:
	case PROBE_ANCHOR_WRITE:
		return fd_cnt == 2 ? answer_anchor(s, r, fds[0], fds[1]) : -EINVAL;
	default:
		return -EINVAL;
	}
}

static int send_answer(struct server *s)
{
	int fds[PROBE_FDS_MAX], r;
	unsigned cnt = 0;

	s->answer.head.fds = 0;
	for (unsigned i = 0; i < PROBE_FDS_MAX; i++) {
		if (s->fds[i] < 0)
			continue;
		s->answer.head.fds |= 1U << i;
		fds[cnt++] = s->fds[i];
	}
	r = channel_send(s->channel, &s->answer, sizeof(s->answer.head) + s->answer.head.len, fds,
			 cnt);
	for (unsigned i = 0; i < PROBE_FDS_MAX; i++)
		cleanup_close_(&s->fds[i]);
	return r;
}

/* Gives up unneeded rights, before the first request. False: that failed. */
static bool settle(struct server *s, bool want_parser)
{
	if (s->settled)
		return true;
	/* Its parsers of debug information get an id of their own. */
	if (want_parser && make_cache(s))
		elf_cache__prepare(s->cache);
	s->settled = !rights_keep_and_permit(RIGHTS, RIGHTS_FOR_MOMENTS);
	if (s->settled && s->cache)
		elf_facts__prepare(elf_cache__facts(s->cache));
	return s->settled;
}

/* Handles one request. False when the channel is closed. */
static bool serve_one(struct server *s)
{
	struct probe_request r;
	int fds[PROBE_FDS_MAX];
	unsigned fd_cnt = PROBE_FDS_MAX;
	ssize_t n = channel_recv(s->channel, &r, sizeof(r), fds, &fd_cnt, IDLE_MS);

	if (n == -ETIMEDOUT) {
		if (s->cache)
			elf_cache__let_go(s->cache);
		names_reader__free(s->names);
		s->names = NULL;
		return true;
	}
	if (n < 0 || !settle(s, n == sizeof(r) && r.op == PROBE_PREPARE && r.want_parser))
		return false;
	for (unsigned i = 0; i < PROBE_FDS_MAX; i++)
		s->fds[i] = -1;
	s->answer.head = (struct probe_answer){ .op = r.op };
	s->answer.head.result = n == sizeof(r) ? answer(s, &r, fds, fd_cnt) : -EINVAL;
	for (unsigned i = 0; i < fd_cnt; i++)
		close(fds[i]);
	return !send_answer(s);
}

int prober_serve(int channel_fd)
{
	struct server *s = calloc(1, sizeof(*s));

	if (!s)
		return 1;
	s->channel = channel_fd;
	while (serve_one(s))
		;
	elf_cache__free(s->cache);
	names_reader__free(s->names);
	free(s);
	return 0;
}
