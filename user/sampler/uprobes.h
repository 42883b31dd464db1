/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uprobes.h - notices interpreters that live in a shared library when they begin.
 *
 * A libpython is mapped by the loader, or much later by dlopen(), when no tracepoint of ours fires. So
 * the functions of it that begin an interpreter get a probe, once per file: by inode, so it meets
 * every process, in any container, also those that do not exist yet. The probe's cookie says how far
 * the runtime is from the function (bpf/lifecycle.bpf.c, runtime_begin()).
 *
 * Must hold: the kernel takes the probes away when krait ends, however that happens; what cannot be
 * probed is found all the same, by looking at the process.
 */
#ifndef KRAIT_SAMPLER_UPROBES_H
#define KRAIT_SAMPLER_UPROBES_H

#include <linux/types.h>

#include "target/elf_entries.h"

struct binary_info;
struct bpf_link;
struct bpf_program;

/* The program for them (NULL where the kernel cannot) and the map entries; both borrowed. */
struct uprobes {
	const struct bpf_program *program;
	int entries_fd;
};

/* The probes of one file; all zero is none. */
struct uprobe_set {
	struct bpf_link *links[ELF_ENTRIES_MAX];
};

/*
 * Probes the file that fd has open (O_PATH is enough) at each of the entries; runtime_delta of info is
 * filled here. first: of the places in the map, ELF_ENTRIES_MAX of them. How many probes there are, or
 * -errno where there is none.
 */
int uprobes_attach(const struct uprobes *u, int fd, const struct elf_entry *entries, __u32 cnt,
		   __u32 first, const struct binary_info *info, struct uprobe_set *ret);
void uprobes_detach(struct uprobe_set *set);

#endif /* KRAIT_SAMPLER_UPROBES_H */
