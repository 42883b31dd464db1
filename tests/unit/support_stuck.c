/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_stuck.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/data/cleanup.h"

#define FILE_NODE 2

static void reply(int fuse, uint64_t unique, int error, const void *data, size_t len)
{
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + len),
		.error = error,
		.unique = unique,
	};
	struct iovec parts[] = { { &head, sizeof(head) }, { (void *)data, len } };

	(void)!writev(fuse, parts, len ? 2 : 1);
}

static struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == FILE_NODE ? 1 << 20 : 0,
		.mode = node == FILE_NODE ? S_IFREG | 0755 : S_IFDIR | 0755,
		.nlink = 1,
		.blksize = 4096,
	};
}

/* Answers everything except FUSE_READ, and except lookups of STUCK_SILENT. */
static void serve(int fuse, const struct fuse_in_header *in)
{
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
				      .minor = FUSE_KERNEL_MINOR_VERSION,
				      .max_write = 4096 };
	struct fuse_entry_out entry = { .nodeid = FILE_NODE, .attr = attributes(FILE_NODE) };
	struct fuse_attr_out attr = { .attr = attributes(in->nodeid) };
	struct fuse_open_out opened = { 0 };

	switch (in->opcode) {
	case FUSE_INIT:
		reply(fuse, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		if (strcmp((const char *)(in + 1), STUCK_SILENT))
			reply(fuse, in->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		reply(fuse, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		reply(fuse, in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(fuse, in->unique, -ENOSYS, NULL, 0);
	}
}

static _Noreturn void server(int fuse)
{
	static char buf[FUSE_MIN_READ_BUFFER + 65536] __attribute__((aligned(8)));
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while ((n = read(fuse, buf, sizeof(buf))) >= (ssize_t)sizeof(struct fuse_in_header))
		serve(fuse, (const void *)buf);
	_exit(0);
}

bool stuck_mount(struct stuck *s)
{
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[128];

	snprintf(s->folder, sizeof(s->folder), "/tmp/krait-stuck-XXXXXX");
	assert_non_null(mkdtemp(s->folder));
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 fuse);
	if (fuse < 0 || mount("stuck", s->folder, "fuse", 0, options)) {
		print_message("# skipped: no FUSE here: %s\n", strerror(errno));
		cleanup_close_(&fuse);
		rmdir(s->folder);
		return false;
	}
	s->server = fork();
	if (!s->server)
		server(fuse);
	close(fuse);
	snprintf(s->file, sizeof(s->file), "%s/file", s->folder);
	return true;
}

void stuck_unmount(struct stuck *s)
{
	umount2(s->folder, MNT_DETACH);
	kill(s->server, SIGKILL);
	waitpid(s->server, NULL, 0);
	rmdir(s->folder);
}
