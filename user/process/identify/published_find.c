/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/identify/published_find.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process/parser/elf_facts.h"
#include "process/elf/elf_table.h"
#include "process/proc/maps.h"
#include "process/proc/open_file.h"
#include "process/memory/remote.h"
#include "base/data/cleanup.h"

/* Files of one process to open: a process chooses what it maps, and the names. */
#define FILES_MAX 4

/* A search in progress. */
struct search {
	int dir;
	__u32 version;
	__u64 runtime_addr;
	struct maps_line base; /* the beginning of the file met last; its path is path */
	char path[PATH_MAX];
	struct elf_facts *facts;
	const struct memory *memory;
	unsigned file_cnt;
	struct published *found;
};

/* Returns a descriptor for reading, or -errno. */
static int open_mapped(const struct search *s, const struct maps_line *m)
{
	cleanup_close int root = -1, fd = -1;
	struct stat st;
	char name[64];

	snprintf(name, sizeof(name), "map_files/%llx-%llx", m->start, m->end);
	fd = open_file_at(s->dir, name, &st);
	if (fd < 0) {
		root = openat(s->dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
		fd = root < 0 ? -errno : open_file_below(root, m->path, &st);
	}
	if (fd < 0)
		return fd;
	return st.st_ino == m->inode ? open_file_read(fd) : -ESTALE;
}

/* Nothing writes to a table: memory that differs from the file belongs to another file. */
static void take_table(const struct search *s, enum published_kind kind, const struct elf_table *t,
		       __u64 base_addr)
{
	struct published_table *found = &s->found->tables[kind];
	__u64 addr = base_addr + (t->vaddr - t->load_vaddr);
	__u8 live[PUBLISHED_SIZE_MAX];

	if (addr % 8 || memory_read(s->memory, addr, live, t->len) ||
	    memcmp(live, t->bytes, t->len) || !published_is_sane(kind, live, t->len))
		return;
	found->addr = addr;
	memcpy(&found->asyncio, live, sizeof(found->asyncio));
}

static bool is_called(const struct maps_line *m, const char *part)
{
	const char *slash = strrchr(m->path, '/');

	return slash && strstr(slash, part);
}

/* m: the mapping of the file's beginning. */
static void look(struct search *s, enum published_kind kind, const struct maps_line *m)
{
	cleanup_close int fd = -1;
	struct elf_table table;

	if (s->found->tables[kind].addr || s->file_cnt == FILES_MAX)
		return;
	s->file_cnt++;
	fd = open_mapped(s, m);
	if (fd >= 0 && !elf_facts__table(s->facts, fd, kind, &table))
		take_table(s, kind, &table, m->start);
}

/* Is the runtime in this part of the file whose beginning was met last? */
static bool has_runtime(const struct search *s, const struct maps_line *m)
{
	return s->runtime_addr >= m->start && s->runtime_addr < m->end && s->base.inode == m->inode;
}

static void take_line(struct search *s, const struct maps_line *m)
{
	if (!m->inode || *m->path != '/')
		return;
	if (!m->offset) {
		s->base = *m;
		snprintf(s->path, sizeof(s->path), "%s", m->path);
		s->base.path = s->path;
	}
	for (unsigned kind = 0; kind < PUBLISHED_KINDS; kind++) {
		if (!published_kind_by(kind, s->version))
			continue;
		if (has_runtime(s, m))
			look(s, kind, &s->base);
		else if (!m->offset && is_called(m, published_infos[kind].file))
			look(s, kind, m);
	}
}

int published_find(int dir, __u32 version, __u64 runtime_addr, struct elf_facts *facts,
		   struct published *ret)
{
	cleanup_remote struct remote *remote = remote__open_at(dir, false);
	cleanup_maps struct maps maps = { .fd = -1 };
	struct search s = { .dir = dir,
			    .version = version,
			    .runtime_addr = runtime_addr,
			    .facts = facts,
			    .found = ret };
	struct maps_line m;
	int r = remote ? 0 : -errno;

	*ret = (struct published){ 0 };
	if (!r)
		r = maps_open_at(&maps, dir);
	if (r)
		return r;
	s.memory = remote__memory(remote);
	while (!published_is_whole(ret, version) && (r = maps_next(&maps, &m)) > 0)
		take_line(&s, &m);
	return r < 0 ? r : 0;
}
