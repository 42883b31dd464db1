/* SPDX-License-Identifier: BSD-2-Clause */
#include "sampler/unwind_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind/tables.h"
#include "util/cleanup.h"
#include "util/log.h"

struct unwind_maps {
	struct unwind_map_fds fds;
	struct unwind_memory memory;
	struct unwind_slab *slabs[UNWIND_SLABS_MAX];
	struct unwind_tables *tables;
};

static void *map(int fd, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

static void unmap(void *at, size_t size)
{
	if (at)
		munmap(at, size);
}

/* The kernel keeps it as long as it is in its list. */
static struct unwind_slab *new_slab(void *ctx, __u32 number)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	struct unwind_maps *m = ctx;
	cleanup_close int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_slab", sizeof(__u32),
					      sizeof(struct unwind_slab), 1, &options);
	struct unwind_slab *slab = fd < 0 ? NULL : map(fd, sizeof(*slab));

	if (!slab)
		return NULL;
	if (bpf_map_update_elem(m->fds.slabs, &number, &fd, BPF_ANY)) {
		log_debug("unwind", "no memory for rows: %d", errno);
		unmap(slab, sizeof(*slab));
		return NULL;
	}
	m->slabs[number] = slab;
	return slab;
}

struct unwind_maps *unwind_maps__new(const struct unwind_map_fds *fds, __u64 bytes)
{
	struct unwind_maps *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->fds = *fds;
	m->memory.files = map(fds->files, UNWIND_FILES_MAX * sizeof(*m->memory.files));
	m->memory.spaces = map(fds->spaces, UNWIND_SPACES_MAX * sizeof(*m->memory.spaces));
	m->memory.control = map(fds->control, sizeof(*m->memory.control));
	m->memory.new_slab = new_slab;
	m->memory.ctx = m;
	if (m->memory.files && m->memory.spaces && m->memory.control)
		m->tables = unwind_tables__new(&m->memory, bytes);
	if (m->tables)
		return m;
	unwind_maps__free(m);
	return NULL;
}

void unwind_maps__free(struct unwind_maps *m)
{
	if (!m)
		return;
	unwind_tables__free(m->tables);
	for (int i = 0; i < (int)UNWIND_SLABS_MAX; i++)
		unmap(m->slabs[i], sizeof(*m->slabs[i]));
	unmap(m->memory.files, UNWIND_FILES_MAX * sizeof(*m->memory.files));
	unmap(m->memory.spaces, UNWIND_SPACES_MAX * sizeof(*m->memory.spaces));
	unmap(m->memory.control, sizeof(*m->memory.control));
	free(m);
}

struct unwind_tables *unwind_maps__tables(struct unwind_maps *m)
{
	return m->tables;
}
