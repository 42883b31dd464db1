/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/probe_anchor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/types.h>
#include <string.h>
#include <unistd.h>

#include "abi.h"
#include "target/mapping_at.h"
#include "target/probe.h"
#include "target/proc.h"
#include "target/remote.h"
#include "util/cleanup.h"

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
	/* The slow checks come first; the look at the thread state right before the write. */
	if (write && (!has_same_credentials(dir, a->creds_digest) ||
		      !mapping_is_private_and_writable(dir, addr, sizeof(__u64))))
		return -EPERM;
	r = read_thread(a, mem, ret);
	if (r || !write)
		return r;
	if (!a->foreign_ok && ret->lpf_addr)
		return -EBUSY;
	return write_word(mem, addr, a->frame_addr);
}
