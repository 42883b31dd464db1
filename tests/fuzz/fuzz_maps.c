/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a list of mappings, read through a descriptor so that lines cross the buffer's end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/proc/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("maps", MFD_CLOEXEC);
	cleanup_maps struct maps maps;
	struct maps_line m;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	maps_open_fd(&maps, fd);
	while (maps_next(&maps, &m) > 0)
		if (m.start >= m.end || strlen(m.path) > MAPS_LINE_MAX)
			abort();
	return 0;
}
