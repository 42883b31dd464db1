/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/maps/plain_files.h"

#include <bpf/bpf.h>
#include <stdlib.h>
#include <uthash.h>

#include "bpf/abi.h"
#include "base/share/quota.h"

#define ROOT_RESERVE (KRAIT_MAX_PLAIN / 8)
/*
 * Points needed to be plain. A look at a process that has just begun may come before its libraries,
 * so it counts one; three or more looks, which span at least 4 ms, count four.
 */
#define POINTS 8U
#define POINTS_LONG 4U
#define LOOKS_LONG 3U

struct plain_file {
	struct plain_key key;
	unsigned owner;
	unsigned points;
	bool python; /* has been Python, so never plain */
	UT_hash_handle hh;
};

struct plain_files {
	int map_fd;
	struct quota *quota;
	struct plain_file *by_key; /* oldest first */
};

struct plain_files *plain_files__new(int map_fd)
{
	struct plain_files *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->map_fd = map_fd;
	f->quota = quota__new(KRAIT_MAX_PLAIN, ROOT_RESERVE);
	if (!f->quota) {
		free(f);
		return NULL;
	}
	return f;
}

static bool is_plain(const struct plain_file *e)
{
	return !e->python && e->points >= POINTS;
}

static void forget(struct plain_files *f, struct plain_file *e)
{
	if (f->map_fd >= 0 && (e->python || is_plain(e)))
		bpf_map_delete_elem(f->map_fd, &e->key);
	quota__give(f->quota, e->owner, 1);
	HASH_DEL(f->by_key, e);
	free(e);
}

void plain_files__free(struct plain_files *f)
{
	struct plain_file *e, *next;

	if (!f)
		return;
	HASH_ITER(hh, f->by_key, e, next)
		forget(f, e);
	quota__free(f->quota);
	free(f);
}

static bool forget_oldest(struct plain_files *f, unsigned owner)
{
	struct plain_file *e, *next;

	HASH_ITER(hh, f->by_key, e, next) {
		if (e->owner != owner)
			continue;
		forget(f, e);
		return true;
	}
	return false;
}

static struct plain_file *find(const struct plain_files *f, const struct plain_key *key)
{
	struct plain_file *e;

	HASH_FIND(hh, f->by_key, key, sizeof(*key), e);
	return e;
}

static struct plain_file *find_or_add(struct plain_files *f, const struct plain_key *key,
				      unsigned owner)
{
	struct plain_file *e = find(f, key);

	if (e)
		return e;
	if (quota__take(f->quota, owner, 1) &&
	    (!forget_oldest(f, owner) || quota__take(f->quota, owner, 1)))
		return NULL;
	e = calloc(1, sizeof(*e));
	if (!e) {
		quota__give(f->quota, owner, 1);
		return NULL;
	}
	e->key = *key;
	e->owner = owner;
	HASH_ADD(hh, f->by_key, key, sizeof(e->key), e);
	return e;
}

void plain_files__note(struct plain_files *f, const struct plain_key *key, unsigned owner,
		       unsigned looks)
{
	struct plain_file *e = looks ? find_or_add(f, key, owner) : find(f, key);
	__u32 verdict = PLAIN_NEVER_PYTHON;

	if (!e || e->python)
		return;
	/* Moves it to the end, so that what is in use stays. */
	HASH_DEL(f->by_key, e);
	HASH_ADD(hh, f->by_key, key, sizeof(e->key), e);
	if (is_plain(e))
		return;
	e->points += looks >= LOOKS_LONG ? POINTS_LONG : looks;
	if (is_plain(e) && f->map_fd >= 0 && bpf_map_update_elem(f->map_fd, key, &verdict, BPF_ANY))
		e->points = 0;
}

void plain_files__is_python(struct plain_files *f, const struct plain_key *key, unsigned owner)
{
	struct plain_file *e = find_or_add(f, key, owner);
	__u32 verdict = PLAIN_PYTHON;

	if (!e || e->python)
		return;
	e->python = true;
	/*
	 * There is room, because the entry exists. Without it, what root's processes have shown
	 * would decide.
	 */
	if (f->map_fd >= 0)
		bpf_map_update_elem(f->map_fd, key, &verdict, BPF_ANY);
}

bool plain_files__has(const struct plain_files *f, const struct plain_key *key)
{
	const struct plain_key roots = { .file = key->file };
	const struct plain_file *own = find(f, key), *root = find(f, &roots);

	if (root && root->python)
		return false;
	own = own ? own : root;
	return own && is_plain(own);
}
