/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/probe_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/memory/page_cache.h"
#include "process/memory/remote.h"
#include "process/proc/proc.h"
#include "process/proc/readable_file.h"
#include "python/values/linecache.h"
#include "base/data/cleanup.h"
#include "base/files/memory_file.h"
#include "base/system/clock.h"
#include "base/text/short_path.h"

/* Interpreters of a process to look into. */
#define INTERPS_MAX 8

/* ---- files ------------------------------------------------------------------------------------ */

static int read_file(int fd, char **ret, size_t *ret_size)
{
	cleanup_free char *text = malloc(PROBE_SOURCE_MAX + 1);
	size_t size = 0;
	ssize_t n = 1;

	if (!text)
		return -ENOMEM;
	while (size <= PROBE_SOURCE_MAX &&
	       (n = read(fd, text + size, PROBE_SOURCE_MAX + 1 - size)) > 0)
		size += (size_t)n;
	if (n < 0)
		return -errno;
	if (size > PROBE_SOURCE_MAX)
		return -EFBIG;
	*ret = take_ptr(&text);
	*ret_size = size;
	return 0;
}

static __u64 time_of(const struct stat *st)
{
	const struct timespec *m = &st->st_mtim, *c = &st->st_ctim;
	const struct timespec *t =
		m->tv_sec > c->tv_sec || (m->tv_sec == c->tv_sec && m->tv_nsec > c->tv_nsec) ? m :
											       c;

	return (__u64)t->tv_sec * NS_PER_SEC + (__u64)t->tv_nsec;
}

/* A root without its rights over files, or that of a user namespace, reads what everybody may read. */
static bool is_known(int dir, const struct proc_ids *ids)
{
	return ids->fsuid || proc_reads_all(dir, ids);
}

static int from_file(int dir, const struct proc_ids *ids, const struct probe_source_ask *ask,
		     char **ret, struct probe_source *result)
{
	/* So many groups are not proved to be those that the samples had. */
	const bool known = ask->ids.groups != TASK_GROUPS_MANY;
	const struct file_reader process = { ids->fsuid, ids->fsgid, known ? ids->group_cnt : 0,
					     ids->groups };
	const struct file_reader caller = { ask->caller_uid, ask->caller_gid, ask->group_cnt,
					    ask->groups };
	const struct file_reader *readers[] = { is_known(dir, ids) ? &process : NULL, &caller };
	cleanup_close int root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_close int fd = -1;
	size_t size = 0;
	struct stat st;
	int err;

	if (root < 0)
		return -errno;
	fd = readable_file_open(root, ask->path, readers, ask->all ? 1 : 2, &st);
	if (fd < 0)
		return fd;
	err = read_file(fd, ret, &size);
	result->changed_ns = time_of(&st);
	result->size = (__u32)size;
	return err;
}

/* ---- memory ----------------------------------------------------------------------------------- */

static int from_interpreters(const struct memory *memory, const struct py_offsets *offsets,
			     __u64 runtime_addr, const char *path, char **ret, __u32 *ret_cell)
{
	cleanup_free struct object_text *t = calloc(1, sizeof(*t));
	struct object_layout layout;
	__u64 addr = 0;
	int missing = -ENOENT;
	int err = t ? memory_read(memory, runtime_addr + (__u64)offsets->runtime.interpreters_head,
				  &addr, sizeof(addr)) :
		      -ENOMEM;

	if (err)
		return err;
	object_layout_of(&layout, offsets);
	t->layout = &layout;
	t->memory = memory;
	for (unsigned i = 0; addr && i < INTERPS_MAX; i++) {
		int found = linecache_read(t, runtime_addr, addr, path, ret);

		if (!found && cell_path_pid(path))
			*ret_cell = linecache_cell(t, runtime_addr, addr, path);
		if (found != -ENOENT && found != -EFBIG)
			return found;
		missing = found == -EFBIG ? found : missing;
		err = memory_read(memory, addr + (__u64)offsets->interp.next, &addr, sizeof(addr));
		if (err)
			return err;
	}
	return missing;
}

static int from_memory(int dir, int mem, const struct proc_ids *ids,
		       const struct py_offsets *offsets, __u64 runtime_addr,
		       const struct probe_source_ask *ask, char **ret, struct probe_source *result)
{
	const struct memory memory = remote_memory_at(&mem);
	struct page_cache *cache;
	int err;

	if (!ask->all && (ids->uid != ask->caller_uid || ids->euid != ask->caller_uid ||
			  !proc_is_dumpable(dir, ids->euid)))
		return -EACCES;
	cache = page_cache__new(&memory);
	if (!cache)
		return -ENOMEM;
	err = from_interpreters(page_cache__memory(cache), offsets, runtime_addr, ask->path, ret,
				&result->cell);
	page_cache__free(cache);
	if (!err)
		result->size = (__u32)strlen(*ret);
	return err;
}

static bool is_of(const struct proc_ids *ids, const struct probe_source_ask *ask)
{
	return ids->fsuid == ask->ids.uid && ids->fsgid == ask->ids.gid &&
	       proc_groups(ids) == ask->ids.groups;
}

int probe_source(int dir, int mem, const struct py_offsets *offsets, __u64 runtime_addr,
		 const struct probe_source_ask *ask, struct probe_source *ret)
{
	cleanup_free char *text = NULL;
	struct proc_ids ids, after;
	int err;

	*ret = (struct probe_source){ 0 };
	if (!memchr(ask->path, '\0', sizeof(ask->path)) || ask->group_cnt > PROBE_SOURCE_GROUPS)
		return -EINVAL;
	err = proc_ids_at(dir, &ids);
	if (!err && !is_of(&ids, ask))
		err = -ESTALE;
	if (!err)
		err = ask->memory ?
			      from_memory(dir, mem, &ids, offsets, runtime_addr, ask, &text, ret) :
			      from_file(dir, &ids, ask, &text, ret);
	/* What it may read, and which memory it has, may have changed meanwhile. */
	if (!err && (proc_ids_at(dir, &after) || after.digest != ids.digest))
		err = -ESTALE;
	return err ? err : memory_file("krait-source", text, ret->size);
}
