/* SPDX-License-Identifier: BSD-2-Clause */
#include "emit/source_lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emit/source_file.h"
#include "profile/identities.h"
#include "util/cleanup.h"
#include "util/vec.h"

/* The ids of all who have samples in a file, without duplicates. */
struct readers {
	const struct identity **list;
	__u32 cnt, cap;
	bool unknown; /* for at least one of them the ids are unknown */
};

static int add_reader(struct readers *r, const struct identity *one)
{
	for (__u32 i = 0; i < r->cnt; i++) {
		if (identity_is_same(r->list[i], one))
			return 0;
	}
	if (vec_reserve(r->list, r->cap, r->cnt + 1))
		return -ENOMEM;
	r->list[r->cnt++] = one;
	return 0;
}

/*
 * If several processes had a pid, we do not know whose the samples are: all of them must be able to
 * read the file.
 */
static int add_process(const struct dict *dict, struct readers *r, int pid)
{
	const struct identities *set = dict__identities_of(dict);
	const struct identity *one = identities_find(set, pid, 0);

	if (one && !identities_find(set, pid, 1))
		return add_reader(r, one);
	r->unknown = true;
	return 0;
}

static bool is_of(const struct profile_frame *f, __u32 file)
{
	return (f->kind == FRAME_PYTHON && f->file == file) || (f->source && f->source == file);
}

static int find_readers(const struct dict *dict, __u32 file, struct readers *ret)
{
	__u32 cnt = dict__node_cnt(dict);
	cleanup_free int *pids = calloc((size_t)cnt + 1, sizeof(*pids));
	int err = pids ? 0 : -ENOMEM, last = 0;

	for (__u32 i = 1; i <= cnt && !err; i++) {
		const struct profile_node *n = dict__node_at(dict, i);
		const struct profile_frame *f = dict__frame_at(dict, n->frame);

		pids[i] = f->kind == FRAME_PROCESS ? f->pid : pids[n->parent];
		if (!is_of(f, file) || (ret->cnt && pids[i] == last))
			continue;
		last = pids[i];
		err = add_process(dict, ret, last);
	}
	return err;
}

/* One of those who ran it, or everybody, must be able to read it. */
static int read_as_recorded(const struct dict *dict, __u32 file, const char *path, char **ret)
{
	struct readers readers = { 0 };
	int err = find_readers(dict, file, &readers), result = -EACCES;

	for (__u32 i = 0; i < readers.cnt && !err && result; i++)
		result = source_file_read(ret, path, readers.list[i]);
	if (!err && result && (readers.unknown || !readers.cnt))
		result = source_file_read(ret, path, NULL);
	free(readers.list);
	return err ? err : result;
}

int source_lookup(char **ret, const struct dict *dict, __u32 file, const char *source_dir)
{
	const char *path = dict__text(dict, file), *base = strrchr(path, '/');
	int err = path[0] == '<' ? -ENOENT : read_as_recorded(dict, file, path, ret);

	if (err && source_dir)
		err = source_file_read_below(ret, source_dir, path);
	if (err && source_dir && base)
		err = source_file_read_below(ret, source_dir, base + 1);
	return err;
}

const char *source_lookup_why(int err)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
		return "not shown: the profiled program could not read it, or you cannot";
	case -EINVAL:
		return "not shown: it is not a regular file";
	case -EFBIG:
		return "not shown: it is too large";
	case -ETIMEDOUT:
	case -EAGAIN:
		return "not shown: its file system did not answer in time";
	default:
		return "the file is not here";
	}
}

const char *source_lookup_say(int err)
{
	switch (err) {
	case 0:
		return "Source";
	case -EACCES:
	case -EPERM:
		return "Source (not shown: the profiled program could not read it, or you cannot: see "
		       "--source)";
	case -EINVAL:
		return "Source (not shown: it is not a regular file)";
	case -EFBIG:
		return "Source (not shown: it is too large)";
	default:
		return "Source (the file is not here: see --source)";
	}
}
