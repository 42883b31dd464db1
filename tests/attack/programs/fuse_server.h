// SPDX-License-Identifier: BSD-2-Clause
/*
 * A file system in user space that needs only /dev/fuse; root mounts it, everybody may use it. Its
 * files: page (the program answers reads), stuck (opening it never returns), lost (looking it up
 * never returns).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define ROOT 1
#define PAGE_FILE 2
#define STUCK 3
#define SIZE (64UL << 20)

static int fuse;

static void reply(uint64_t unique, int error, const void *data, size_t len)
{
	struct fuse_out_header head = { .len = (uint32_t)(sizeof(head) + len),
					.error = error,
					.unique = unique };
	struct iovec parts[] = { { &head, sizeof(head) }, { (void *)data, len } };

	(void)!writev(fuse, parts, len ? 2 : 1);
}

static struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == ROOT ? 0 : SIZE,
		.mode = node == ROOT ? S_IFDIR | 0755 : S_IFREG | 0755,
		.nlink = 1,
		.blksize = 4096,
	};
}

static void lookup(uint64_t unique, const char *name)
{
	uint64_t node = !strcmp(name, "page") ? PAGE_FILE : !strcmp(name, "stuck") ? STUCK : 0;
	struct fuse_entry_out entry = { .nodeid = node, .attr = attributes(node) };

	if (!strcmp(name, "lost"))
		return;
	if (node)
		reply(unique, 0, &entry, sizeof(entry));
	else
		reply(unique, -ENOENT, NULL, 0);
}

/* Answers with reply(), now, later or never. */
typedef void on_read_fn(void *ctx, uint64_t unique, uint64_t offset, uint32_t size);

static void serve(struct fuse_in_header *in, void *arg, on_read_fn *on_read, void *ctx)
{
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
				      .minor = FUSE_KERNEL_MINOR_VERSION,
				      .max_readahead = 4096,
				      .max_write = 4096 };
	struct fuse_attr_out attr = { .attr = attributes(in->nodeid) };
	/* otherwise the next one waits */
	struct fuse_open_out opened = { .open_flags = FOPEN_KEEP_CACHE };

	switch (in->opcode) {
	case FUSE_INIT:
		reply(in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		lookup(in->unique, arg);
		break;
	case FUSE_GETATTR:
		reply(in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		if (in->nodeid == STUCK)
			break;
		reply(in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_OPENDIR:
		reply(in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ: {
		struct fuse_read_in *want = arg;

		if (on_read)
			on_read(ctx, in->unique, want->offset, want->size);
		break;
	}
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		reply(in->unique, 0, NULL, 0);
		break;
	default:
		reply(in->unique, -ENOSYS, NULL, 0);
	}
}

static int fuse_mount(const char *folder)
{
	char options[128];

	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 fuse);
	return fuse < 0 ? -1 : mount("stuck", folder, "fuse", 0, options);
}

/* Serves until the folder is unmounted or something arrives on until_fd (-1: never). */
static void fuse_serve(int until_fd, on_read_fn *on_read, void *ctx)
{
	static char buf[FUSE_MIN_READ_BUFFER + 65536] __attribute__((aligned(8)));

	for (;;) {
		struct pollfd fds[] = { { fuse, POLLIN, 0 }, { until_fd, POLLIN, 0 } };
		ssize_t n;

		if (poll(fds, 2, -1) < 0 || fds[1].revents)
			break;
		n = read(fuse, buf, sizeof(buf));
		if (n < (ssize_t)sizeof(struct fuse_in_header))
			break;
		serve((struct fuse_in_header *)buf, buf + sizeof(struct fuse_in_header), on_read,
		      ctx);
	}
	close(fuse); /* waiting processes get an error */
}
