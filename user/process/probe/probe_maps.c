/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/probe_maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/proc/maps.h"
#include "process/probe/probe_list.h"
#include "base/data/cleanup.h"
#include "base/data/hash.h"

struct head {
	__u32 mapping_cnt, file_cnt, names_len, cut;
};

/* ---- the list, in a prober -------------------------------------------------------------------- */

/* Hash of the files of mappings: size a power of two, at most half full. */
#define SLOTS (2 * PROBE_MAPS_FILES_MAX)

struct list {
	int dir;
	struct head head;
	struct probe_mapping mappings[PROBE_MAPPINGS_MAX];
	struct probe_mapped_file files[PROBE_MAPS_FILES_MAX];
	__u64 devs[PROBE_MAPS_FILES_MAX]; /* as in the list of mappings */
	__u32 slots[SLOTS]; /* index of a file + 1 */
	char names[PROBE_MAPS_NAMES_MAX];
};

static __u64 dev_of(const struct maps_line *m)
{
	return (__u64)m->dev_major << 32 | m->dev_minor;
}

/* The slot of a file, or a free one for it. Without an inode the name identifies it. */
static __u32 *slot_of(struct list *l, const struct maps_line *m)
{
	__u32 hash = hash_word(m->inode + dev_of(m) * 31);

	for (__u32 i = hash;; i++) {
		__u32 *slot = &l->slots[i % SLOTS];
		const struct probe_mapped_file *file = &l->files[*slot - (*slot != 0)];

		if (!*slot || (file->inode == m->inode && l->devs[*slot - 1] == dev_of(m) &&
			       (m->inode || !strcmp(l->names + file->name, m->path))))
			return slot;
	}
}

static void look_at_file(const struct list *l, const struct maps_line *m,
			 struct probe_mapped_file *ret)
{
	struct stat st;
	char name[64];

	/* The file itself, even if deleted or in another namespace; needs a privilege. */
	snprintf(name, sizeof(name), "map_files/%llx-%llx", m->link_start, m->link_end);
	if (!m->inode || fstatat(l->dir, name, &st, 0))
		return;
	ret->has_id = true;
	ret->id = file_id_of(&st);
}

/* Returns its number, from 1; 0: no room. */
static __u32 add_file(struct list *l, const struct maps_line *m)
{
	__u32 *slot = slot_of(l, m);
	size_t len = strlen(m->path) + 1;
	struct probe_mapped_file *file;

	if (*slot)
		return *slot;
	if (l->head.file_cnt == PROBE_MAPS_FILES_MAX ||
	    len > PROBE_MAPS_NAMES_MAX - l->head.names_len) {
		l->head.cut = 1;
		return 0;
	}
	file = &l->files[l->head.file_cnt];
	*file = (struct probe_mapped_file){ .inode = m->inode, .name = l->head.names_len };
	memcpy(l->names + l->head.names_len, m->path, len);
	l->head.names_len += len;
	look_at_file(l, m, file);
	l->devs[l->head.file_cnt] = dev_of(m);
	*slot = ++l->head.file_cnt;
	return *slot;
}

/* For code, adds the file; for data, finds a file already known, or none. */
static __u32 file_of(struct list *l, const struct maps_line *m)
{
	if (m->prot & MAPPING_EXEC)
		return add_file(l, m);
	return m->inode ? *slot_of(l, m) : 0;
}

static bool joins(const struct probe_mapping *last, const struct maps_line *m, __u32 file)
{
	return !file && !last->file && !(last->prot & MAPPING_EXEC) && last->end == m->start;
}

/* False: no more room. */
static bool add_mapping(struct list *l, const struct maps_line *m)
{
	__u32 cnt = l->head.mapping_cnt, file = file_of(l, m);

	if (m->prot & MAPPING_EXEC && !file)
		return false;
	if (cnt && !(m->prot & MAPPING_EXEC) && joins(&l->mappings[cnt - 1], m, file)) {
		l->mappings[cnt - 1].end = m->end;
		return true;
	}
	if (cnt == PROBE_MAPPINGS_MAX) {
		l->head.cut = 1;
		return false;
	}
	l->mappings[l->head.mapping_cnt++] =
		(struct probe_mapping){ m->start, m->end, m->offset, m->prot, file };
	return true;
}

static int fill(struct list *l)
{
	cleanup_maps struct maps maps;
	struct maps_line m;
	int r = maps_open_at(&maps, l->dir);

	/* Include memory that is merely reserved: it may become anything. */
	while (!r && (r = maps_next_code(&maps, &m)) > 0) {
		r = 0;
		if (m.prot & ~MAPPING_SHARED && !add_mapping(l, &m))
			break;
	}
	return r;
}

int probe_maps_list(int dir)
{
	cleanup_free struct list *l = calloc(1, sizeof(*l));
	cleanup_close int fd = memfd_create("krait-maps", MFD_CLOEXEC);
	int r;

	if (!l || fd < 0)
		return -ENOMEM;
	l->dir = dir;
	r = fill(l);
	if (!r)
		r = probe_list_write(fd, &l->head, sizeof(l->head));
	if (!r)
		r = probe_list_write(fd, l->mappings, l->head.mapping_cnt * sizeof(l->mappings[0]));
	if (!r)
		r = probe_list_write(fd, l->files, l->head.file_cnt * sizeof(l->files[0]));
	if (!r)
		r = probe_list_write(fd, l->names, l->head.names_len);
	return r ? r : take_fd(&fd);
}

/* ---- the same, in krait ----------------------------------------------------------------------- */

static bool is_sane(const struct probe_maps *m)
{
	__u64 end = 0;

	if (m->names_len && m->names[m->names_len - 1])
		return false;
	for (__u32 i = 0; i < m->mapping_cnt; i++) {
		const struct probe_mapping *one = &m->mappings[i];

		if (one->start < end || one->start >= one->end || one->file > m->file_cnt)
			return false;
		end = one->end;
	}
	for (__u32 i = 0; i < m->file_cnt; i++)
		if (m->files[i].name >= m->names_len)
			return false;
	return true;
}

int probe_maps_read(int fd, struct probe_maps *ret)
{
	struct head head;
	size_t size;
	int r = probe_list_read(fd, &head, sizeof(head));

	*ret = (struct probe_maps){ 0 };
	if (r)
		return r;
	if (head.mapping_cnt > PROBE_MAPPINGS_MAX || head.file_cnt > PROBE_MAPS_FILES_MAX ||
	    head.names_len > PROBE_MAPS_NAMES_MAX)
		return -EPROTO;
	size = sizeof(head) + head.mapping_cnt * sizeof(*ret->mappings) +
	       head.file_cnt * sizeof(*ret->files) + head.names_len;
	ret->memory = malloc(size);
	if (!ret->memory)
		return -ENOMEM;
	ret->mappings = (void *)((char *)ret->memory + sizeof(head));
	ret->files = (const void *)(ret->mappings + head.mapping_cnt);
	ret->names = (const void *)(ret->files + head.file_cnt);
	ret->mapping_cnt = head.mapping_cnt;
	ret->file_cnt = head.file_cnt;
	ret->names_len = head.names_len;
	ret->cut = head.cut;
	r = probe_list_read(fd, ret->memory, size);
	if (!r && !is_sane(ret))
		r = -EPROTO;
	if (r)
		probe_maps_free(ret);
	return r;
}

void probe_maps_free(struct probe_maps *m)
{
	free(m->memory);
	*m = (struct probe_maps){ 0 };
}
