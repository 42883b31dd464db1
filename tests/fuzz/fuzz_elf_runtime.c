/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as an ELF file, in a memory file.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/elf/elf_runtime.h"
#include "process/elf/elf_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	struct elf_table table;
	struct elf_runtime e;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!elf_runtime_read(fd, &e) &&
	    (e.table_len > sizeof(e.table) || e.build_id_len > sizeof(e.build_id)))
		abort();
	if (!elf_table_read(fd, PUBLISHED_ASYNCIO, &table) && table.len > sizeof(table.bytes))
		abort();
	close(fd);
	return 0;
}
