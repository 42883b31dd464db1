/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/elf/dwfl_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/data/cleanup.h"

static bool has_build_id(int fd, const unsigned char *id, int size)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	const void *found;
	ssize_t found_size = elf ? dwelf_elf_gnu_build_id(elf, &found) : -1;
	bool same = size > 0 && found_size == size && !memcmp(found, id, (size_t)size);

	elf_end(elf);
	return same;
}

static int find_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			   const char *file, const char *link, GElf_Word crc, char **ret_name)
{
	const struct dwfl_file *f = *data;
	const unsigned char *id;
	GElf_Addr at;
	int size = dwfl_module_build_id(module, &id, &at);

	if (!f || f->debug_fd < 0 || !has_build_id(f->debug_fd, id, size))
		return -1;
	return fcntl(f->debug_fd, F_DUPFD_CLOEXEC, 0);
}

static int find_no_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			char **ret_name, Elf **ret_elf)
{
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_no_file,
	.find_debuginfo = find_debug_file,
	.section_address = dwfl_offline_section_address,
};

int dwfl_file_open(struct dwfl_file *ret, int fd, int debug_fd)
{
	cleanup_close int own = -1;
	struct stat st;
	void **data;

	*ret = (struct dwfl_file){ .debug_fd = debug_fd };
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > DWFL_FILE_SIZE_MAX)
		return -ENOEXEC;
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0)
		return -errno;
	ret->dwfl = dwfl_begin(&callbacks);
	if (ret->dwfl) {
		dwfl_report_begin(ret->dwfl);
		ret->module = dwfl_report_elf(ret->dwfl, "", "", own, 0, false);
	}
	if (!ret->module) {
		dwfl_file_close(ret);
		return -ENOEXEC;
	}
	/* The module owns the descriptor from here on. */
	take_fd(&own);
	dwfl_report_end(ret->dwfl, NULL, NULL);
	dwfl_module_info(ret->module, &data, NULL, NULL, NULL, NULL, NULL, NULL);
	*data = ret;
	return 0;
}

void dwfl_file_close(struct dwfl_file *f)
{
	if (f->dwfl)
		dwfl_end(f->dwfl);
	*f = (struct dwfl_file){ .debug_fd = -1 };
}
