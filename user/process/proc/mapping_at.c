/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/proc/mapping_at.h"

#include <errno.h>
#include <sys/ioctl.h>

#include "process/proc/maps.h"

/* linux/fs.h, kernel 6.11 and later: queries the mapping that covers an address. */
struct maps_query {
	__u64 size, query_flags, query_addr;
	__u64 vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	__u32 dev_major, dev_minor, vma_name_size, build_id_size;
	__u64 vma_name_addr, build_id_addr;
};
#define MAPS_QUERY _IOWR('f', 17, struct maps_query)

static __u32 prot_of_flags(__u64 flags)
{
	/* The kernel's bits are the same as ours: read 1, write 2, exec 4, shared 8. */
	return (__u32)flags & (MAPPING_READ | MAPPING_WRITE | MAPPING_EXEC | MAPPING_SHARED);
}

/* The end and protection of the mapping that covers addr. Returns 0, -EFAULT: none, -errno. */
static int find_mapping(int dir, __u64 addr, __u64 *ret_end, __u32 *ret_prot)
{
	struct maps_query query = { .size = sizeof(query), .query_addr = addr };
	cleanup_maps struct maps maps;
	struct maps_line m;
	int r = maps_open_at(&maps, dir);

	if (r)
		return r;
	if (!ioctl(maps.fd, MAPS_QUERY, &query)) {
		*ret_end = query.vma_end;
		*ret_prot = prot_of_flags(query.vma_flags);
		return 0;
	}
	if (errno == ENOENT)
		return -EFAULT;
	while ((r = maps_next(&maps, &m)) > 0 && m.start <= addr) {
		if (addr >= m.end)
			continue;
		*ret_end = m.end;
		*ret_prot = m.prot;
		return 0;
	}
	return r < 0 ? r : -EFAULT;
}

bool mapping_is_private_and_writable(int dir, __u64 addr, size_t len)
{
	__u64 end;
	__u32 prot;

	return !find_mapping(dir, addr, &end, &prot) && end - addr >= len && prot & MAPPING_WRITE &&
	       !(prot & MAPPING_SHARED);
}
