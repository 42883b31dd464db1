/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/maps/looks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "krait.skel.h"
#include "base/data/bytes.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/text/log.h"

struct bpf_link *looks_attach(struct krait_bpf *skel, struct error *err)
{
	struct bpf_link *link = bpf_program__attach_iter(skel->progs.look_at_threads, NULL);

	if (!link)
		error_set(err, errno, EXIT_CODE_KERNEL,
			  "cannot look at the threads of the machine: %s", strerror(errno));
	return link;
}

long looks_take(const struct bpf_link *link, struct thread_look **ret)
{
	cleanup_close int fd = bpf_iter_create(bpf_link__fd(link));
	cleanup_bytes struct bytes data = { 0 };
	char part[4096];
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, part, sizeof(part))) > 0)
		bytes_put(&data, part, (size_t)n);
	if (n < 0 || data.failed)
		return n < 0 ? -errno : -ENOMEM;
	*ret = (void *)take_ptr(&data.data);
	return (long)(data.len / sizeof(**ret));
}

struct bpf_link *looks_attach_clocks(struct krait_bpf *skel)
{
	struct bpf_link *link = bpf_program__attach_iter(skel->progs.read_clocks, NULL);

	if (!link)
		log_debug("looks", "the clocks of threads cannot be read: %s", strerror(errno));
	return link;
}

void looks_take_clocks(const struct bpf_link *link)
{
	cleanup_close int fd = bpf_iter_create(bpf_link__fd(link));
	char part[16];

	while (fd >= 0 && read(fd, part, sizeof(part)) > 0)
		;
}
