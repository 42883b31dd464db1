/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/code_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "symbol/maps_room.h"
#include "target/maps.h"
#include "target/probe_maps.h"
#include "target/probed.h"

static struct native_file *open_file(struct code_maps *c, const struct mapping *m)
{
	char path[64 + MAPS_LINE_MAX] = "";
	struct stat st;

	if (!m->inode)
		return native_files__get(c->files, "", m->path, c->owner);
	/* The file itself, deleted or in another namespace; needs a privilege. */
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)c->pid, m->start, m->end);
	if (stat(path, &st))
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)c->pid, m->path);
	return native_files__get(c->files, path, m->path, c->owner);
}

static int add_mapping(struct code_maps *c, const struct native_mapping *m)
{
	unsigned cap = c->cap ? c->cap * 2 : 32;
	struct native_mapping *grown;

	if (!m->file)
		return -ENOMEM;
	if (c->cnt == CODE_MAPS_MAX)
		return -E2BIG;
	if (c->cnt == c->cap) {
		grown = reallocarray(c->list, cap, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		c->list = grown;
		c->cap = cap;
	}
	c->list[c->cnt++] = *m;
	return 0;
}

/* What finds no room is not known to be data. */
static void add_data(struct code_maps *c, __u64 start, __u64 end)
{
	unsigned cap = c->data_cap ? c->data_cap * 2 : 32;
	struct code_range *grown;

	if (c->data_cnt && c->data[c->data_cnt - 1].end == start) {
		c->data[c->data_cnt - 1].end = end;
		return;
	}
	if (c->data_cnt == CODE_MAPS_MAX)
		return;
	if (c->data_cnt == c->data_cap) {
		grown = reallocarray(c->data, cap, sizeof(*grown));
		if (!grown)
			return;
		c->data = grown;
		c->data_cap = cap;
	}
	c->data[c->data_cnt++] = (struct code_range){ start, end };
}

/* Is the interpreter's data in this mapping? Its code is in the same file. */
static bool holds_runtime(const struct code_maps *c, __u64 start, __u64 end)
{
	return c->runtime_addr && c->runtime_addr >= start && c->runtime_addr < end;
}

/*
 * In the order of addresses; so a file that holds the interpreter is known by the time its data comes,
 * behind its code. The data may continue in a mapping without a file, right behind one of the file.
 */
static int read_mappings(struct code_maps *c, struct maps *maps)
{
	struct mapping m;
	__u64 inode = 0;
	struct native_file *file = NULL;
	int result;

	while ((result = maps_next(maps, &m)) > 0) {
		if (m.inode && m.inode != inode) {
			inode = m.inode;
			file = NULL;
		}
		if (m.prot & MAPPING_EXEC) {
			const struct native_mapping code = { m.start, m.end, m.offset,
							     open_file(c, &m) };
			int err = add_mapping(c, &code);

			if (err)
				return err == -E2BIG ? 0 : err;
			if (m.inode)
				file = c->list[c->cnt - 1].file;
		} else if (m.prot) {
			/* What is only reserved may become code. */
			add_data(c, m.start, m.end);
		}
		if (file && holds_runtime(c, m.start, m.end))
			native_file__set_interpreter(file);
	}
	return result;
}

/* The file of a mapping in a prober's list. */
static struct native_file *probed_file(struct code_maps *c, const struct probe_maps *maps, __u32 i)
{
	const struct probe_mapped_file *f = &maps->files[i];
	const char *name = probe_maps_name(maps, f);
	/* One that cannot be looked at yet is known by its number for this process. */
	const struct file_id guess = { .dev = NATIVE_DEV_UNKNOWN - (__u64)c->pid, .ino = f->inode };

	return native_files__get_id(c->files,
				    f->has_id ? &f->id :
				    f->inode  ? &guess :
						NULL,
				    name, c->owner);
}

/* The same, as a prober has read them. */
static int take_mappings(struct code_maps *c, const struct probe_maps *maps)
{
	struct native_file *file = NULL;

	for (__u32 i = 0; i < maps->mapping_cnt; i++) {
		const struct probe_mapping *m = &maps->mappings[i];

		if (m->prot & MAPPING_EXEC) {
			struct native_mapping code = { m->start, m->end, m->offset, NULL };
			int err;

			code.file = m->file ? probed_file(c, maps, m->file - 1) :
					      native_files__get_id(c->files, NULL, "", c->owner);
			err = add_mapping(c, &code);
			if (err)
				return err == -E2BIG ? 0 : err;
			file = code.file;
		} else {
			add_data(c, m->start, m->end);
		}
		if (file && holds_runtime(c, m->start, m->end))
			native_file__set_interpreter(file);
	}
	return 0;
}

static int read_probed(struct code_maps *c)
{
	struct probe_maps maps;
	int err = probed__maps(c->probed, &maps);

	if (err)
		return err;
	err = take_mappings(c, &maps);
	probe_maps_free(&maps);
	return err;
}

static int read_here(struct code_maps *c)
{
	cleanup_maps struct maps maps = { .fd = -1 };
	int err = maps_open(&maps, c->pid);

	return err ? err : read_mappings(c, &maps);
}

static __u64 digest_of(const struct code_maps *c)
{
	__u64 digest = c->cnt;

	for (unsigned i = 0; i < c->cnt; i++) {
		const struct native_mapping *m = &c->list[i];
		const __u64 words[] = { m->start, m->end, m->offset, (__u64)(uintptr_t)m->file };

		for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
			digest = (digest ^ words[k]) * 0x9e3779b97f4a7c15ULL;
		digest ^= digest >> 32;
	}
	return digest;
}

/* What finds no room goes: data first, then code from its end. 0 or -ENOMEM. */
static int take_room(struct code_maps *c)
{
	struct quota *q = native_files__room(c->files)->quota;
	struct code_maps_users *users = calloc(1, sizeof(*users));

	if (!users)
		return -ENOMEM;
	*users = (struct code_maps_users){ 1, c->owner, c->cnt + c->data_cnt };
	if (quota__take(q, c->owner, users->ranges)) {
		c->data_cnt = 0;
		users->ranges = c->cnt;
		while (users->ranges && quota__take(q, c->owner, users->ranges))
			users->ranges /= 2;
		c->cnt = users->ranges;
	}
	c->users = users;
	return 0;
}

int code_maps__read(struct code_maps *c)
{
	struct code_maps next = {
		.files = c->files,
		.owner = c->owner,
		.probed = c->probed,
		.pid = c->pid,
		.runtime_addr = c->runtime_addr,
		.serial = c->serial,
	};
	int err = c->probed ? read_probed(&next) : read_here(&next), changed;

	/* A process that is going has none; what it had before is better than nothing. */
	if (!err && next.cnt)
		err = take_room(&next);
	if (err || !next.cnt) {
		code_maps__free(&next);
		return err ? err : -ESRCH;
	}
	next.digest = digest_of(&next);
	changed = !c->serial || next.digest != c->digest;
	next.serial += changed;
	code_maps__free(c);
	*c = next;
	return changed;
}

void code_maps__fork(struct code_maps *ret, const struct code_maps *parent, pid_t pid,
		     struct probed *probed)
{
	*ret = *parent;
	ret->pid = pid;
	ret->probed = probed;
	ret->serial = 1;
	if (ret->users)
		ret->users->cnt++;
}

void code_maps__free(struct code_maps *c)
{
	if (c->users && --c->users->cnt)
		return;
	if (c->users)
		quota__give(native_files__room(c->files)->quota, c->users->owner, c->users->ranges);
	free(c->users);
	free(c->list);
	free(c->data);
}

/* The executable: has a prober opened it? */
static int executable(const struct code_maps *c, char path[64])
{
	if (c->probed)
		return probed__file(c->probed);
	snprintf(path, 64, "/proc/%d/exe", (int)c->pid);
	return AT_FDCWD;
}

void code_maps__mark_executable(struct code_maps *c)
{
	char path[64] = "";
	int fd = executable(c, path);

	if (!*path && fd < 0)
		return;
	for (unsigned i = 0; i < c->cnt; i++) {
		if (native_file__is(c->list[i].file, fd, path))
			native_file__set_interpreter(c->list[i].file);
	}
}

const struct native_mapping *code_maps__find(const struct code_maps *c, __u64 ip)
{
	unsigned low = 0, high = c->cnt;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		const struct native_mapping *m = &c->list[middle];

		if (ip < m->start)
			high = middle;
		else if (ip >= m->end)
			low = middle + 1;
		else
			return m;
	}
	return NULL;
}

bool code_maps__is_data(const struct code_maps *c, __u64 addr)
{
	unsigned low = 0, high = c->data_cnt;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (addr < c->data[middle].start)
			high = middle;
		else if (addr >= c->data[middle].end)
			low = middle + 1;
		else
			return true;
	}
	return false;
}
