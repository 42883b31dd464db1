/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/maps/unwind_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "native/rows/tables.h"
#include "base/data/cleanup.h"
#include "base/text/log.h"

/* How often to check whether a slab is in the kernel's list. */
#define LOOK_USEC 50
#define LOOKS 200

/* The kernel has a slab in its list at once, but the inserting call waits for RCU: 15 ms. */
struct insertion {
	int slabs, fd;
	__u32 number;
	bool begun;
	int result; /* 1: unknown yet */
	pthread_t thread;
};

struct unwind_maps {
	struct unwind_map_fds fds;
	struct insertion insertion; /* the last one */
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

static void *insertion_main(void *arg)
{
	struct insertion *i = arg;
	int err = bpf_map_update_elem(i->slabs, &i->number, &i->fd, BPF_ANY) ? -errno : 0;

	__atomic_store_n(&i->result, err, __ATOMIC_RELEASE);
	return NULL;
}

static void end_insertion(struct insertion *i)
{
	if (i->begun)
		pthread_join(i->thread, NULL);
	if (i->begun)
		close(i->fd);
	i->begun = false;
}

/* The insertion takes over the descriptor. Returns 0 when the slab is in the list, or -errno. */
static int insert(struct insertion *i, int slabs, __u32 number, int fd)
{
	__u32 id;
	int err;

	end_insertion(i);
	*i = (struct insertion){ .slabs = slabs, .fd = fd, .number = number, .result = 1 };
	err = pthread_create(&i->thread, NULL, insertion_main, i);
	if (err) {
		close(fd);
		return -err;
	}
	i->begun = true;
	for (int look = 0; look < LOOKS; look++) {
		if (!bpf_map_lookup_elem(slabs, &number, &id))
			return 0;
		if (__atomic_load_n(&i->result, __ATOMIC_ACQUIRE) < 0)
			break;
		usleep(LOOK_USEC);
	}
	end_insertion(i);
	return i->result;
}

/* The kernel keeps it as long as it is in its list. */
static struct unwind_slab *new_slab(void *ctx, __u32 number)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	struct unwind_maps *m = ctx;
	cleanup_close int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_slab", sizeof(__u32),
					      sizeof(struct unwind_slab), 1, &options);
	struct unwind_slab *slab = fd < 0 ? NULL : map(fd, sizeof(*slab));
	int err;

	if (!slab)
		return NULL;
	err = insert(&m->insertion, m->fds.slabs, number, take_fd(&fd));
	if (err) {
		log_debug("unwind", "no memory for rows: %d", -err);
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
	end_insertion(&m->insertion);
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
