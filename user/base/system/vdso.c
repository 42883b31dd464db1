/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/system/vdso.h"

#include <elf.h>
#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/data/cleanup.h"

int vdso_image(void)
{
	cleanup_close int fd = memfd_create("vdso", MFD_CLOEXEC);
	const Elf64_Ehdr *image = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	size_t size;

	if (fd < 0)
		return -errno;
	if (!image)
		return -ENODATA;
	/* The section headers are last. */
	size = image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
	if (write(fd, image, size) != (ssize_t)size)
		return -ENODATA;
	return take_fd(&fd);
}
