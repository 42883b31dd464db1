/* SPDX-License-Identifier: BSD-2-Clause */
#include "sampler/uprobes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "abi.h"
#include "target/elf_file.h"
#include "target/elf_runtime.h"
#include "target/elf_symbol.h"
#include "util/log.h"

/* As many as there can be layouts; a machine has a handful. */
#define MAX_LIBRARIES 64

/*
 * Every way into Py_InitializeFromConfig() that a program can take (Python/pylifecycle.c,
 * Modules/main.c). All of them, as the compiler may have put one into the other.
 */
static const char *const functions[] = {
	"Py_BytesMain",	   "Py_Main",
	"Py_InitializeEx", "Py_InitializeFromConfig",
	"Py_Initialize",   "Py_InitializeFromInitConfig",
};

#define FUNCTION_CNT (sizeof(functions) / sizeof(functions[0]))

_Static_assert(MAX_LIBRARIES *FUNCTION_CNT <= KRAIT_MAX_ENTRIES, "one entry for each probe");

struct library {
	dev_t dev;
	ino_t inode;
	off_t size;
};

struct uprobes {
	const struct bpf_program *program;
	int entries_fd;
	__u32 library_cnt, link_cnt;
	struct library libraries[MAX_LIBRARIES];
	struct bpf_link *links[MAX_LIBRARIES * FUNCTION_CNT];
};

struct uprobes *uprobes__new(const struct bpf_program *program, int entries_fd)
{
	struct uprobes *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->program = program;
	u->entries_fd = entries_fd;
	return u;
}

void uprobes__free(struct uprobes *u)
{
	if (!u)
		return;
	for (__u32 i = 0; i < u->link_cnt; i++)
		bpf_link__destroy(u->links[i]);
	free(u);
}

static bool is_known(const struct uprobes *u, const struct stat *st)
{
	for (__u32 i = 0; i < u->library_cnt; i++) {
		const struct library *l = &u->libraries[i];

		if (l->dev == st->st_dev && l->inode == st->st_ino && l->size == st->st_size)
			return true;
	}
	return false;
}

/* The entry is in its place before the probe that refers to it. */
static int attach_at(struct uprobes *u, int fd, __u64 offset, const struct binary_info *info)
{
	__u32 cookie = u->link_cnt;
	struct bpf_link *link;
	char path[32];
	DECLARE_LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = cookie);

	if (bpf_map_update_elem(u->entries_fd, &cookie, info, BPF_ANY))
		return -errno;
	/* By descriptor: the name may lead elsewhere by now, or be another mount namespace's. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	link = bpf_program__attach_uprobe_opts(u->program, -1, path, offset, &opts);
	if (!link)
		return -errno;
	u->links[u->link_cnt++] = link;
	return 0;
}

static int attach_function(struct uprobes *u, struct elf_file *f, const struct elf_runtime *runtime,
			   const char *name, struct binary_info *info)
{
	__u64 offset, len;
	Elf64_Sym sym;
	int err = elf_symbol_function(f, name, &sym);

	if (err)
		return err;
	if (!elf_file_offset(f, sym.st_value, &offset, &len))
		return -ENODATA;
	info->runtime_delta = runtime->runtime_vaddr - sym.st_value;
	return attach_at(u, f->fd, offset, info);
}

int uprobes__attach(struct uprobes *u, int fd, const struct binary_info *info)
{
	struct binary_info entry = *info;
	struct elf_runtime runtime;
	struct elf_file file;
	int err, found = 0;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (is_known(u, &st))
		return 0;
	if (u->library_cnt == MAX_LIBRARIES)
		return -ENOSPC;
	u->libraries[u->library_cnt++] = (struct library){ st.st_dev, st.st_ino, st.st_size };
	err = elf_runtime_read(fd, &runtime);
	if (!err)
		err = elf_file_init(&file, fd);
	for (size_t i = 0; !err && i < FUNCTION_CNT; i++) {
		int r = attach_function(u, &file, &runtime, functions[i], &entry);

		if (r && r != -ENOENT)
			log_debug("uprobes", "%s: %d", functions[i], r);
		found += !r;
	}
	return err ? err : found ? 0 : -ENOENT;
}
