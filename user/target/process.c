/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One pass over the mappings. A file is looked at when its first executable or writable part
 * appears after the mapping of its beginning: a file without is data to whoever mapped it (a
 * debugger, say). Text that was moved to huge pages does not hide it. The executable comes first in
 * the address space in practice, so for most Python processes the pass ends after a few lines.
 * Nothing is kept per mapping.
 */
#include "target/process.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "target/elf_cache.h"
#include "target/identify.h"
#include "target/maps.h"
#include "target/proc.h"

/* The beginning of a mapped file, while its loaded parts are looked for. */
struct base {
	struct mapping m; /* its path is path */
	bool pending;
	char path[PATH_MAX];
};

static bool same_file(const struct mapping *a, const struct mapping *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* A mapping that a loader makes and that nobody makes who only reads the file. */
static bool is_loaded(const struct mapping *m)
{
	return m->prot & MAPPING_EXEC ||
	       (m->prot & MAPPING_WRITE && !(m->prot & MAPPING_SHARED) && m->offset);
}

/* stat() that insists on the mapped file, where its inode can be compared. */
static int lookup(struct identify *s, const char *path, __u64 inode, struct stat *st,
		  const struct elf_runtime **ret)
{
	if (stat(path, st))
		return -errno;
	if (inode && st->st_ino != inode)
		return -ESTALE;
	return elf_cache__get(s->cache, path, st, ret);
}

/*
 * Through map_files, which is the mapped file itself whatever became of its name and whosever the
 * mount namespace; it needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. Without, by name: the
 * executable's link, the path as seen from the target's root, the path as we see it.
 */
static int lookup_mapped(struct identify *s, const struct mapping *m, struct stat *st,
			 const struct elf_runtime **ret)
{
	char path[PATH_MAX + 32];
	int r, pid = (int)s->found->pid;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid, m->start, m->end);
	r = lookup(s, path, 0, st, ret);
	if (r == 0 || r == -ENOEXEC)
		return r;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	r = lookup(s, path, m->inode, st, ret);
	if (r == 0 || r == -ENOEXEC)
		return r;
	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, m->path);
	r = lookup(s, path, m->inode, st, ret);
	if (r == 0 || r == -ENOEXEC)
		return r;
	/* The list names what we can reach as we would: the file of a changed root, say. */
	return lookup(s, m->path, m->inode, st, ret);
}

static enum py_build build_of(const struct identify *s, const struct stat *st)
{
	struct stat exe;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)s->found->pid);
	return !stat(path, &exe) && exe.st_dev == st->st_dev && exe.st_ino == st->st_ino ?
		       PY_BUILD_EXE :
		       PY_BUILD_SHARED;
}

static void inspect_file(struct identify *s, const struct mapping *m)
{
	const struct elf_runtime *elf;
	struct stat st;
	int r = lookup_mapped(s, m, &st, &elf);

	if (!s->inspected++)
		snprintf(s->first, sizeof(s->first), "%s", m->path);
	if (r == -ENOEXEC)
		return;
	if (r)
		s->unopened++;
	else
		identify_mapped(s, m, elf, build_of(s, &st));
}

/* 0 when the whole list was seen or the search is over. */
static int inspect_maps(struct identify *s)
{
	cleanup_maps struct maps maps;
	struct base base = { .pending = false };
	struct mapping m;
	int r = maps_open(&maps, s->found->pid);

	while (!r && !s->done && (r = maps_next(&maps, &m)) > 0) {
		r = 0;
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
			inspect_file(s, &base.m);
		}
	}
	return r;
}

static void explain_none(struct identify *s)
{
	char libraries[64] = "", unopened[64] = "";
	struct py_process *p = s->found;

	if (!s->inspected) {
		snprintf(p->why, sizeof(p->why), "no executable file is mapped");
		return;
	}
	if (s->inspected > 1)
		snprintf(libraries, sizeof(libraries), " and %u %s", s->inspected - 1,
			 s->inspected == 2 ? "library" : "libraries");
	if (s->unopened)
		snprintf(unopened, sizeof(unopened), " (%u could not be opened)", s->unopened);
	snprintf(p->why, sizeof(p->why), "%.120s%s %s inspected, %s a Python runtime%s", s->first,
		 libraries, s->inspected > 1 ? "were" : "was",
		 s->inspected > 1 ? "none holds" : "it does not hold", unopened);
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

/* Is it the process that we began with, and does it still have memory? */
static bool still_there(const struct py_process *p)
{
	struct proc_stat stat;

	return !proc_stat_read(p->pid, &stat) && stat.start_ticks == p->start_ticks &&
	       stat.state != 'Z' && stat.state != 'X';
}

static int search(struct identify *s)
{
	struct py_process *p = s->found;
	int r = inspect_maps(s);

	if (!r && !s->done && s->result && s->unopened)
		r = identify_scan(s);
	identify_end(s);
	if (r == -EACCES || s->result == -EACCES)
		return refuse(p, -EACCES,
			      "its memory may not be read: run as root or with CAP_SYS_PTRACE");
	if (r == -ESRCH || !still_there(p))
		return refuse(p, -ESRCH, "it has gone away meanwhile");
	/* What was found counts, even if the list of mappings could not be read to its end. */
	if (r && s->result == -ENOEXEC)
		return refuse(p, r, "its mappings could not be read: %s", strerror(-r));
	if (s->result == -ENOEXEC && !*p->why)
		explain_none(s);
	return s->result == -EAGAIN ? -ENOEXEC : s->result;
}

int py_process_identify(pid_t pid, struct elf_cache *cache, struct py_process *ret)
{
	struct identify s = { .cache = cache, .found = ret, .result = -ENOEXEC };
	struct proc_stat stat;
	int r;

	*ret = (struct py_process){ .pid = pid };
	r = proc_stat_read(pid, &stat);
	if (r == -ESRCH)
		return refuse(ret, r, "there is no such process");
	if (r)
		return refuse(ret, r, "its status could not be read: %s", strerror(-r));
	ret->start_ticks = stat.start_ticks;
	/* A name is a comfort: without it the rest is still worth knowing. */
	if (process_comm(pid, ret->comm))
		ret->comm[0] = '\0';
	if (stat.kernel_thread)
		return refuse(ret, -ENOEXEC, "it is a kernel thread");
	if (stat.state == 'Z' || stat.state == 'X')
		return refuse(ret, -ESRCH, "it has exited and waits for its parent");
	return search(&s);
}
