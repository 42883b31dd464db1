/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_core_file.c - any bytes as a core: headers, notes, an interpreter in it, reads of its
 * memory.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "look/core/core_python.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("core", MFD_CLOEXEC);
	struct core_python python;
	struct core_file c;
	char why[256], got[64];
	struct core_mapping code[8];
	uint32_t at = 0;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!core_file_open(&c, fd, why, sizeof(why))) {
		for (uint32_t i = 0; i < c.segment_cnt; i++)
			(void)!memory_read(&c.memory,
					   c.segments[i].start + c.segments[i].file_size - 32, got,
					   sizeof(got));
		for (uint32_t cnt; (cnt = core_file_code(&c, &at, code, 8));)
			for (uint32_t i = 0; i < cnt; i++)
				if (code[i].start >= code[i].end || code[i].file >= c.file_cnt)
					abort();
		for (uint32_t i = 0; i < c.file_cnt; i++)
			(void)!core_file_give(&c, i, fd);
		if (!core_python_find(&c, &python, why, sizeof(why)) && !python.version)
			abort();
		core_file_close(&c);
	}
	close(fd);
	return 0;
}
