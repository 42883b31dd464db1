/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/probe_anchor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/types.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "abi.h"
#include "target/maps.h"
#include "target/probe.h"
#include "target/proc.h"
#include "target/remote.h"
#include "util/cleanup.h"

/* linux/fs.h, kernel 6.11 and later: the mapping that covers an address. */
struct maps_query {
	__u64 size, query_flags, query_addr;
	__u64 vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	__u32 dev_major, dev_minor, vma_name_size, build_id_size;
	__u64 vma_name_addr, build_id_addr;
};
#define MAPS_QUERY _IOWR('f', 17, struct maps_query)

static __u32 prot_of_flags(__u64 flags)
{
	/* The kernel's bits are read 1, write 2, exec 4, shared 8, as ours. */
	return (__u32)flags & (MAPPING_READ | MAPPING_WRITE | MAPPING_EXEC | MAPPING_SHARED);
}

/* The mapping that covers addr: its end and protection. 0, -EFAULT none, -errno. */
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

static bool is_private_and_writable(int dir, __u64 addr, size_t len)
{
	__u64 end;
	__u32 prot;

	return !find_mapping(dir, addr, &end, &prot) && end - addr >= len && prot & MAPPING_WRITE &&
	       !(prot & MAPPING_SHARED);
}

static bool has_same_credentials(int dir, __u64 digest)
{
	struct proc_ids ids;

	return digest && !proc_ids_at(dir, &ids) && ids.digest == digest;
}

static __u64 field(const __u8 *window, __s32 offset)
{
	__u64 value;

	memcpy(&value, window + offset, sizeof(value));
	return value;
}

static bool is_in_window(__s32 offset)
{
	return offset >= 0 && offset <= KRAIT_THREAD_WINDOW - 8;
}

static int read_thread(const struct probe_anchor *a, int mem, struct probe_anchor_state *ret)
{
	__u8 window[KRAIT_THREAD_WINDOW];
	int r;

	if (!is_in_window(a->thread_id) || !is_in_window(a->interp) ||
	    !is_in_window(a->last_profiled_frame) || !is_in_window(a->last_profiled_frame_seq))
		return -EINVAL;
	r = remote_read_fd(mem, a->tstate_addr, window, sizeof(window));
	if (r)
		return r;
	if (field(window, a->thread_id) != a->thread_ptr ||
	    field(window, a->interp) != a->interp_addr)
		return -ESTALE;
	ret->lpf_addr = field(window, a->last_profiled_frame);
	ret->seq = field(window, a->last_profiled_frame_seq);
	return 0;
}

static int write_word(int mem, __u64 addr, __u64 value)
{
	ssize_t n = pwrite(mem, &value, sizeof(value), (off_t)addr);

	if (n < 0)
		return errno == EIO ? -EFAULT : errno == EBADF ? -EPERM : -errno;
	return n == sizeof(value) ? 0 : n == 0 ? -ESRCH : -EFAULT;
}

int probe_anchor_access(const struct probe_anchor *a, int dir, int mem, bool write,
			struct probe_anchor_state *ret)
{
	__u64 addr = a->tstate_addr + (__u64)a->last_profiled_frame;
	int r;

	if (a->tstate_addr > LLONG_MAX - KRAIT_THREAD_WINDOW)
		return -EFAULT;
	/* What takes long comes first; the look at the thread state right before the write. */
	if (write && (!has_same_credentials(dir, a->creds_digest) ||
		      !is_private_and_writable(dir, addr, sizeof(__u64))))
		return -EPERM;
	r = read_thread(a, mem, ret);
	if (r || !write)
		return r;
	if (!a->foreign_ok && ret->lpf_addr)
		return -EBUSY;
	return write_word(mem, addr, a->frame_addr);
}
