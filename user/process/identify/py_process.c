/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes one pass over the mappings. A file is examined when its first executable or writable part
 * appears after the mapping of its beginning: a file without such a part is just data to whoever
 * mapped it (a debugger, say). Text that was moved to huge pages does not hide it. In practice the
 * executable comes first in the address space, so for most Python processes the pass ends after a
 * few lines. Nothing is kept per mapping. A process chooses how many files it maps and how often:
 * repeated ones without a runtime are examined once, as long as they come close together, and there
 * is an overall limit.
 */
#include "process/identify/py_process.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/identify/elf_cache.h"
#include "process/identify/identify.h"
#include "process/proc/maps.h"
#include "process/proc/open_file.h"
#include "process/proc/proc.h"
#include "process/memory/remote.h"
#include "base/data/cleanup.h"
#include "base/system/privileges.h"
#include "base/text/short_path.h"

/* The beginning of a mapped file, while we look for its loaded parts. */
struct base {
	struct maps_line m; /* its path is path */
	bool pending;
	char path[PATH_MAX];
};

static bool same_file(const struct maps_line *a, const struct maps_line *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* A mapping that a loader makes, and that nobody makes who only reads the file. */
static bool is_loaded(const struct maps_line *m)
{
	return m->prot & MAPPING_EXEC ||
	       (m->prot & MAPPING_WRITE && !(m->prot & MAPPING_SHARED) && m->offset);
}

/* Takes fd over if it is that file. */
static int use_file(struct identify *s, int fd, __u64 inode, const struct stat *st,
		    const struct elf_runtime **ret)
{
	char path[32];
	int r;

	if (fd < 0)
		return fd;
	if (inode && st->st_ino != inode) {
		close(fd);
		return -ESTALE;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = elf_cache__get(s->cache, path, st, ret);
	if (r) {
		close(fd);
		return r;
	}
	s->file = fd;
	s->file_remote = open_file_is_remote(fd);
	return 0;
}

/*
 * Tries map_files, which is the mapped file itself whatever became of its name and whatever the
 * mount namespace; it needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. Otherwise goes by name: the
 * executable's link, the path as seen from the target's root, the path as we see it. On success
 * s->file is the file.
 */
static int lookup_mapped(struct identify *s, const struct maps_line *m, struct stat *st,
			 const struct elf_runtime **ret)
{
	cleanup_close int root = -1;
	char name[64];
	int r;

	snprintf(name, sizeof(name), "map_files/%llx-%llx", m->start, m->end);
	r = use_file(s, open_file_at(s->dir, name, st), 0, st, ret);
	if (r == 0 || r == -ENOEXEC)
		return r;
	r = use_file(s, open_file_at(s->dir, "exe", st), m->inode, st, ret);
	if (r == 0 || r == -ENOEXEC)
		return r;
	root = openat(s->dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0)
		r = use_file(s, open_file_below(root, m->path, st), m->inode, st, ret);
	if (r == 0 || r == -ENOEXEC)
		return r;
	/* The list may show the path as we would reach it: for a file in a changed root, say. */
	return use_file(s, open_file_at(AT_FDCWD, m->path, st), m->inode, st, ret);
}

static enum py_build build_of(const struct identify *s, const struct stat *st)
{
	struct stat exe;

	return !fstatat(s->dir, "exe", &exe, 0) && exe.st_dev == st->st_dev &&
			       exe.st_ino == st->st_ino ?
		       PY_BUILD_EXE :
		       PY_BUILD_SHARED;
}

/* A file without a runtime that a process maps again and again is examined once. */
static bool is_known_empty(const struct identify *s, const struct maps_line *m)
{
	for (int i = 0; i < IDENTIFY_EMPTY_MAX; i++)
		if (s->empty[i].inode == m->inode && s->empty[i].dev_major == m->dev_major &&
		    s->empty[i].dev_minor == m->dev_minor)
			return true;
	return false;
}

static void note_unopened(struct identify *s, const struct maps_line *m, int err)
{
	if (s->unopened < IDENTIFY_UNOPENED_MAX)
		s->unopened_at[s->unopened] = m->start;
	if (!s->unopened++) {
		snprintf(s->first_unopened, sizeof(s->first_unopened), "%s", m->path);
		s->first_error = err;
	}
}

/* A name makes a file worth a look, or tells what to say where no runtime was found; nothing else. */
static bool is_like_python(const char *path)
{
	return starts_with(base_name(path), "python") || starts_with(base_name(path), "libpython");
}

static bool is_like_pypy(const char *path)
{
	const char *name = base_name(path);

	return starts_with(name, "libpypy") ||
	       (starts_with(name, "pypy") && (!name[4] || isdigit((unsigned char)name[4])));
}

static void note_name(struct identify *s, const char *path)
{
	bool pypy = is_like_pypy(path);

	if (!pypy && (s->like_python || !is_like_python(path)))
		return;
	s->like_pypy |= pypy;
	s->like_python = true;
	snprintf(s->like, sizeof(s->like), "%s", path);
}

/*
 * One interpreter is known. A second one is in a file that is called like one, or not worth the
 * time that it takes to look at every file.
 */
static void inspect_second(struct identify *s, const struct maps_line *m)
{
	const struct elf_runtime *elf;
	struct stat st;

	if (*s->found->second || !is_like_python(m->path) || m->start == s->found->map_start ||
	    s->seconds++ >= IDENTIFY_SECONDS_MAX || lookup_mapped(s, m, &st, &elf))
		return;
	identify_second(s, m, elf, build_of(s, &st));
	close(s->file);
	s->file = -1;
}

static void inspect_file(struct identify *s, const struct maps_line *m)
{
	const struct elf_runtime *elf;
	struct stat st;
	int r;

	if (is_known_empty(s, m))
		return;
	if (s->inspected == IDENTIFY_FILES_MAX) {
		s->files_cut = true;
		return;
	}
	note_name(s, m->path);
	r = lookup_mapped(s, m, &st, &elf);
	if (!s->inspected++)
		snprintf(s->first, sizeof(s->first), "%s", m->path);
	if (r) {
		if (r != -ENOEXEC)
			note_unopened(s, m, r);
		s->empty[s->empty_at++ % IDENTIFY_EMPTY_MAX] =
			(struct identify_empty){ m->inode, m->dev_major, m->dev_minor };
		return;
	}
	identify_mapped(s, m, elf, build_of(s, &st));
	close(s->file);
	s->file = -1;
}

/*
 * Mappings that are read after an interpreter was found: a second one is worth telling, but who has very many mappings must
 * not keep others waiting.
 */
#define MAPPINGS_MAX 4096

/* Returns 0 when all of the list that matters was seen. */
static int inspect_maps(struct identify *s)
{
	cleanup_maps struct maps maps;
	struct base base = { .pending = false };
	struct maps_line m;
	int r = maps_open_at(&maps, s->dir);
	unsigned more = 0;

	while (!r && more < MAPPINGS_MAX && (r = maps_next(&maps, &m)) > 0) {
		r = 0;
		more += s->done;
		s->end = m.end;
		if (!m.inode || *m.path != '/')
			continue;
		if (m.offset == 0) {
			base.m = m;
			base.pending = true;
			snprintf(base.path, sizeof(base.path), "%s", m.path);
			base.m.path = base.path;
		}
		if (base.pending && is_loaded(&m) && same_file(&base.m, &m)) {
			base.pending = false;
			if (s->done)
				inspect_second(s, &base.m);
			else
				inspect_file(s, &base.m);
		}
	}
	return r;
}

static void explain_none(struct identify *s)
{
	unsigned read = s->inspected - s->unopened;
	char libraries[64] = "", unopened[240] = "";
	struct py_process *p = s->found;

	if (!s->inspected) {
		snprintf(p->why, sizeof(p->why), "no executable file is mapped");
		return;
	}
	if (s->unopened)
		snprintf(unopened, sizeof(unopened), "%s could not be opened (%s)%s",
			 s->first_unopened, strerror(-s->first_error),
			 s->unopened > 1 ? ", and neither could others" : "");
	if (s->unopened && (!read || !strcmp(s->first, s->first_unopened))) {
		snprintf(p->why, sizeof(p->why), "%.190s, and its memory holds no Python runtime",
			 unopened);
		return;
	}
	if (read > 1)
		snprintf(libraries, sizeof(libraries), " and %u %s", read - 1,
			 read == 2 ? "library" : "libraries");
	if (s->files_cut)
		snprintf(unopened, sizeof(unopened), " (it maps more files, which were not)");
	snprintf(p->why, sizeof(p->why), "%.90s%s %s inspected, %s a Python runtime%s%.90s",
		 s->first, libraries, read > 1 ? "were" : "was",
		 read > 1 ? "none holds" : "it does not hold", s->unopened ? "; " : "", unopened);
}

static int refuse(struct py_process *p, int r, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(struct py_process *p, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, sizeof(p->why), fmt, ap);
	va_end(ap);
	return r;
}

/* No file has a runtime that krait knows: is it another Python? Returns the result. */
static int explain_other(struct identify *s)
{
	/* The stack of a 64-bit program, at least, lies above that. */
	bool is_32_bit = s->end && s->end <= 1ULL << 32;

	if (s->like_pypy)
		return refuse(
			s->found, -ENOTSUP,
			"PyPy is not CPython (%.120s): krait reads the stacks of CPython only",
			s->like);
	if (is_32_bit && s->like_python)
		return refuse(s->found, -ENOTSUP,
			      "a 32-bit Python (%.120s): krait reads 64-bit programs only",
			      s->like);
	if (is_32_bit)
		return refuse(s->found, -ENOEXEC,
			      "it is a 32-bit program, and krait reads 64-bit programs only");
	explain_none(s);
	return -ENOEXEC;
}

/* Does it still have memory? */
static bool still_there(int dir)
{
	struct proc_stat stat;

	return !proc_stat_at(dir, &stat) && stat.state != 'Z' && stat.state != 'X';
}

static int search(struct identify *s)
{
	struct py_process *p = s->found;
	int r = inspect_maps(s);

	if (!r && !s->done && s->result && s->unopened)
		r = identify_unopened(s);
	if (!r && !s->done && s->result && s->unopened)
		r = identify_scan(s);
	if (r == -EACCES || s->result == -EACCES)
		return refuse(
			p, -EACCES, "memory cannot be read: %s",
			privileges_has(CAP_SYS_PTRACE, CAP_PERMITTED) ?
				"a user namespace, a security module or kernel.yama.ptrace_scope=3 forbids it" :
			geteuid() ?
				"run as root or with CAP_SYS_PTRACE" :
				"krait lacks CAP_SYS_PTRACE, which its container or unit must give it");
	if (r == -ESRCH || !still_there(s->dir))
		return refuse(p, -ESRCH, "it has exited");
	/* What was found counts, even if the list of mappings could not be read to its end. */
	if (r && s->result == -ENOEXEC)
		return refuse(p, r, "its mappings could not be read: %s", strerror(-r));
	if (s->result == -ENOEXEC && !*p->why)
		return explain_other(s);
	return s->result == -EAGAIN ? -ENOEXEC : s->result;
}

bool py_process_is_alone(const struct py_process *p)
{
	return p->build == PY_BUILD_EXE && p->alone && p->of_file;
}

bool py_process_has_anchors(const struct py_process *p)
{
	return p->offsets.thread.last_profiled_frame != PYOFF_ABSENT && !*p->anchors_why;
}

static void take_ids(int dir, struct py_process *ret)
{
	struct proc_ids ids;

	if (proc_ids_at(dir, &ids))
		return;
	ret->has_ids = true;
	ret->uid = ids.uid;
	ret->payer = proc_payer_at(dir, ids.uid);
	ret->euid = ids.euid;
	ret->gid = ids.gid;
	ret->egid = ids.egid;
	ret->group_cnt = ids.group_cnt;
	memcpy(ret->groups, ids.groups, sizeof(ret->groups));
	ret->creds_digest = ids.digest;
	ret->dumpable = proc_is_dumpable(dir, ids.euid);
}

/* Opens /proc/PID and finds out which process it is. Returns 0, or the overall result. */
static int begin(pid_t pid, struct py_process *ret, int *ret_dir)
{
	struct proc_stat stat;
	int r = proc_open_stat(pid, &stat);

	*ret_dir = r;
	if (r == -ESRCH)
		return refuse(ret, r, "there is no such process");
	if (r < 0)
		return refuse(ret, r, "its status could not be read: %s", strerror(-r));
	ret->start_ticks = stat.start_ticks;
	ret->image_addr = stat.start_stack;
	/* A name is a convenience: without it the rest is still useful. */
	if (process_comm(pid, ret->comm))
		ret->comm[0] = '\0';
	if (stat.kernel_thread)
		return refuse(ret, -ENOEXEC, "it is a kernel thread");
	if (proc_has_ended(&stat))
		return refuse(ret, -ESRCH, "it has exited and waits for its parent");
	take_ids(*ret_dir, ret);
	return 0;
}

static void hand_out(struct identify *s, struct py_process_fds *fds)
{
	*fds = PY_PROCESS_NO_FDS;
	fds->dir = take_fd(&s->dir);
	if (s->remote)
		fds->mem = fcntl(remote__fd(s->remote), F_DUPFD_CLOEXEC, 0);
	if (s->found_file >= 0)
		fds->file = open_file_read(s->found_file);
}

int py_process_identify_fds(pid_t pid, struct elf_cache *cache, struct py_process *ret,
			    struct py_process_fds *fds)
{
	struct identify s = {
		.cache = cache,
		.found = ret,
		.result = -ENOEXEC,
		.dir = -1,
		.file = -1,
		.found_file = -1,
	};
	int r;

	*ret = (struct py_process){ .pid = pid };
	*fds = PY_PROCESS_NO_FDS;
	r = begin(pid, ret, &s.dir);
	if (!r)
		r = search(&s);
	if (!r)
		hand_out(&s, fds);
	remote__close(s.remote);
	cleanup_close_(&s.found_file);
	cleanup_close_(&s.dir);
	return r;
}

int py_process_open(pid_t pid, struct py_process *ret, struct py_process_fds *fds)
{
	struct remote *remote;
	int r;

	*ret = (struct py_process){ .pid = pid };
	*fds = PY_PROCESS_NO_FDS;
	r = begin(pid, ret, &fds->dir);
	if (r) {
		py_process_fds_close(fds);
		return r;
	}
	remote = remote__open_at(fds->dir, ret->dumpable);
	if (remote)
		fds->mem = fcntl(remote__fd(remote), F_DUPFD_CLOEXEC, 0);
	remote__close(remote);
	return 0;
}

void py_process_copy_ids(struct py_process *to, const struct py_process *from)
{
	to->has_ids = from->has_ids;
	to->dumpable = from->dumpable;
	to->uid = from->uid;
	to->payer = from->payer;
	to->euid = from->euid;
	to->gid = from->gid;
	to->egid = from->egid;
	to->group_cnt = from->group_cnt;
	memcpy(to->groups, from->groups, sizeof(to->groups));
	to->creds_digest = from->creds_digest;
}

void py_process_fds_close(struct py_process_fds *fds)
{
	cleanup_close_(&fds->dir);
	cleanup_close_(&fds->mem);
	cleanup_close_(&fds->file);
	*fds = PY_PROCESS_NO_FDS;
}
