/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uprobes.h - notices when an interpreter in a shared library starts.
 *
 * A libpython is mapped by the loader, or much later by dlopen(), when no tracepoint of ours fires.
 * So the functions that start an interpreter get a probe, once per file: by inode, so it covers
 * every process, in any container, including future ones. The probe's cookie gives the distance of
 * the runtime from the function (bpf/lifecycle.bpf.c, runtime_begin()).
 *
 * Must hold: the kernel removes the probes when krait ends, however that happens; processes of
 * files without a probe are found all the same, by looking at them.
 */
#ifndef KRAIT_KERNEL_MAPS_UPROBES_H
#define KRAIT_KERNEL_MAPS_UPROBES_H

#include <linux/types.h>

#include "process/elf/elf_entries.h"

struct binary_info;
struct bpf_link;
struct bpf_program;

/* The program for them (NULL: not supported by the kernel) and the map entries; both borrowed. */
struct uprobes {
	const struct bpf_program *program;
	int entries_fd;
};

/* The probes of one file; all zero: none. */
struct uprobe_set {
	struct bpf_link *links[ELF_ENTRIES_MAX];
};

/*
 * Probes the file open at fd (O_PATH is enough) at each of the entries; fills in info's
 * runtime_delta. first: of ELF_ENTRIES_MAX places in the map. Returns the number of probes, or
 * -errno if there is none.
 */
int uprobes_attach(const struct uprobes *u, int fd, const struct elf_entry *entries, __u32 cnt,
		   __u32 first, const struct binary_info *info, struct uprobe_set *ret);
void uprobes_detach(struct uprobe_set *set);

#endif /* KRAIT_KERNEL_MAPS_UPROBES_H */
