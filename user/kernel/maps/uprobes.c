/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/maps/uprobes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <sys/capability.h>

#include "bpf/abi.h"
#include "base/system/privileges.h"

_Static_assert(KRAIT_MAX_BINARIES *ELF_ENTRIES_MAX <= KRAIT_MAX_ENTRIES,
	       "one entry for each probe");

/* The map entry is in place before the probe that refers to it. NULL and errno on failure. */
static struct bpf_link *attach_at(const struct uprobes *u, const char *path,
				  const struct elf_entry *entry, __u32 cookie,
				  const struct binary_info *info)
{
	struct binary_info filled = *info;
	DECLARE_LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = cookie);
	cleanup_loan struct privileges_loan loan = privileges_borrow(CAP_SYS_ADMIN);

	filled.runtime_delta = entry->runtime_delta;
	if (bpf_map_update_elem(u->entries_fd, &cookie, &filled, BPF_ANY))
		return NULL;
	return bpf_program__attach_uprobe_opts(u->program, -1, path, entry->offset, &opts);
}

int uprobes_attach(const struct uprobes *u, int fd, const struct elf_entry *entries, __u32 cnt,
		   __u32 first, const struct binary_info *info, struct uprobe_set *ret)
{
	char path[32];
	int done = 0, err = -ENOENT;

	*ret = (struct uprobe_set){ { NULL } };
	if (!u->program)
		return -EOPNOTSUPP;
	/* By descriptor: the name may lead elsewhere by now, or belong to another mount namespace. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (__u32 i = 0; i < cnt && i < ELF_ENTRIES_MAX; i++) {
		ret->links[i] = attach_at(u, path, &entries[i], first + i, info);
		if (ret->links[i])
			done++;
		else
			err = -errno;
	}
	return done ? done : err;
}

void uprobes_detach(struct uprobe_set *set)
{
	for (int i = 0; i < ELF_ENTRIES_MAX; i++) {
		bpf_link__destroy(set->links[i]);
		set->links[i] = NULL;
	}
}
