/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_maps.h - the kernel's memory for the tables of bpf/native/rows.h, which native/rows/tables.h fills;
 * slabs of it are made on demand.
 */
#ifndef KRAIT_KERNEL_MAPS_UNWIND_MAPS_H
#define KRAIT_KERNEL_MAPS_UNWIND_MAPS_H

#include <linux/types.h>

struct unwind_maps;
struct unwind_tables;

struct unwind_map_fds {
	int slabs, files, spaces, control;
};

/* The caller keeps the descriptors; bytes: most memory for slabs. NULL and errno on failure. */
struct unwind_maps *unwind_maps__new(const struct unwind_map_fds *fds, __u64 bytes);
void unwind_maps__free(struct unwind_maps *m);

struct unwind_tables *unwind_maps__tables(struct unwind_maps *m);

#endif /* KRAIT_KERNEL_MAPS_UNWIND_MAPS_H */
