/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/source_lookup.h"

#include <errno.h>
#include <stdlib.h>

#include "output/source_file.h"
#include "profile/identities.h"
#include "profile/sources.h"
#include "base/data/cleanup.h"
#include "base/data/vec.h"

/* A pid with samples in a file; its identities are together in the set. */
struct reader {
	const struct identity *first;
	unsigned cnt;
};

/* All who have samples in a file; those with one identity without duplicates. */
struct readers {
	struct reader *list;
	__u32 cnt, cap;
	bool unknown; /* for at least one of them the ids are unknown */
};

static int add_process(const struct dict *dict, struct readers *r, int pid)
{
	const struct identities *set = dict__identities_of(dict);
	struct reader new = { .first = identities_find(set, pid, 0) };

	while (identities_find(set, pid, new.cnt))
		new.cnt++;
	r->unknown |= !new.cnt;
	for (__u32 i = 0; i < r->cnt && new.cnt == 1; i++) {
		if (r->list[i].cnt == 1 && identity_is_same(r->list[i].first, new.first))
			return 0;
	}
	if (!new.cnt)
		return 0;
	if (vec_reserve(r->list, r->cap, r->cnt + 1))
		return -ENOMEM;
	r->list[r->cnt++] = new;
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

/*
 * Nobody knows as which of its identities the process ran a function of the file: all must be able
 * to read it.
 */
static int read_as_each(const struct reader *r, const char *path, char **ret)
{
	int err = -EACCES;

	for (unsigned i = 0; i < r->cnt; i++) {
		const struct identity *who = r->first + i;

		free(*ret);
		*ret = NULL;
		err = source_file_read(ret, path, who->doubt ? NULL : who);
		if (err)
			break;
	}
	return err;
}

/* One of those who ran it, or everybody, must be able to read it. */
static int read_as_recorded(const struct dict *dict, __u32 file, const char *path, char **ret)
{
	struct readers readers = { 0 };
	int err = find_readers(dict, file, &readers), result = -EACCES;

	for (__u32 i = 0; i < readers.cnt && !err && result; i++)
		result = read_as_each(&readers.list[i], path, ret);
	if (!err && result && (readers.unknown || !readers.cnt))
		result = source_file_read(ret, path, NULL);
	free(readers.list);
	return err ? err : result;
}

static int read_recorded(const struct dict *dict, __u32 file, const char *path, bool page,
			 char **ret)
{
	const struct identities *set = dict__identities_of(dict);
	int err;

	if (page && set->claimed) {
		err = source_file_read(ret, path, NULL);
		return err == -EACCES ? -EKEYREJECTED : err;
	}
	if (set->foreign)
		return source_file_read(ret, path, set->owner.doubt ? NULL : &set->owner);
	return read_as_recorded(dict, file, path, ret);
}

/* Did one of those who ran it see the file that is at its path here? */
static bool is_used_here(const struct dict *dict, __u32 file)
{
	struct readers readers = { 0 };
	bool used = false;

	if (find_readers(dict, file, &readers))
		used = false;
	for (__u32 i = 0; i < readers.cnt; i++)
		for (unsigned k = 0; k < readers.list[i].cnt; k++)
			used |= !readers.list[i].first[k].doubt;
	free(readers.list);
	return used;
}

/* What travelled with the profile. */
static int take_kept(char **ret, const struct dict *dict, __u32 file,
		     const struct source_kept *kept, bool page)
{
	cleanup_free char *here = NULL;
	int err = is_used_here(dict, file) ?
			  read_recorded(dict, file, dict__text(dict, file), page, &here) :
			  0;

	*ret = sources_text(kept, err ? NULL : here);
	return *ret ? 0 : -ENOMEM;
}

int source_lookup(char **ret, bool *ret_kept, const struct dict *dict, __u32 file,
		  const char *source_dir, bool page)
{
	const char *path = dict__text(dict, file);
	const struct source_kept *kept = sources_find(dict__sources_of(dict), path);
	int err;

	*ret = NULL;
	if (ret_kept)
		*ret_kept = kept;
	/* Whoever names a folder wants its files, which have all lines. */
	if (kept && source_dir && !source_file_read_below(ret, source_dir, path)) {
		if (ret_kept)
			*ret_kept = false;
		return 0;
	}
	if (kept)
		return take_kept(ret, dict, file, kept, page);
	err = path[0] == '<' ? -ENOENT : read_recorded(dict, file, path, page, ret);
	if (err && source_dir) {
		int below = source_file_read_below(ret, source_dir, path);

		err = below == -ENOENT ? err : below;
	}
	return err;
}

const char *source_lookup_why(int err)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
		return "not shown: the profiled program could not read it, or you cannot";
	case -EKEYREJECTED:
		return "not shown: not everybody may read it, and only the capture says that its "
		       "program could (--source DIR shows files in DIR)";
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

const char *source_lookup_say(int err, bool kept)
{
	switch (err) {
	case 0:
		return kept ? "Source (sampled functions, as they were when recorded)" : "Source";
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
