// SPDX-License-Identifier: BSD-2-Clause
/*
 * A file system whose files never arrive (fuse_server.h): stuck_fs FOLDER mounts it there, prints
 * READY and ends with stdin. Needs root, who may open /dev/fuse here.
 */
#include "fuse_server.h"

int main(int argc, char **argv)
{
	if (argc != 2 || fuse_mount(argv[1])) {
		perror("fuse");
		return 2;
	}
	puts("READY");
	fflush(stdout);
	fuse_serve(0, NULL, NULL);
	umount2(argv[1], MNT_DETACH);
	return 0;
}
