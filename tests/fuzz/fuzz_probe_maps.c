/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_probe_maps.c - any bytes as a prober's list of mappings: it is sorted, and names lie within
 * it.
 */
#include <linux/types.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/probe/probe_maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("maps", MFD_CLOEXEC);
	size_t length = 0;
	struct probe_maps m;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!probe_maps_read(fd, &m)) {
		for (__u32 i = 0; i < m.mapping_cnt; i++) {
			if (m.mappings[i].start >= m.mappings[i].end)
				abort();
			length += m.mappings[i].file;
		}
		for (__u32 i = 0; i < m.file_cnt; i++)
			length += strlen(m.names + m.files[i].name);
		probe_maps_free(&m);
	}
	close(fd);
	return length > 1UL << 50;
}
