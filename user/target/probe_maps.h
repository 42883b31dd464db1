/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_maps.h - the mappings of a process, as a prober lists them and krait reads the list.
 *
 * The list is a file in memory, since it can be longer than a message: a header, mappings by address,
 * the files with code, their names. A process chooses how many mappings it has, so there are bounds; a
 * list that was cut says so.
 *
 * Must hold: the reader follows no offset or index that it has not checked.
 */
#ifndef KRAIT_TARGET_PROBE_MAPS_H
#define KRAIT_TARGET_PROBE_MAPS_H

#include <linux/types.h>
#include <stdbool.h>

#include "target/file_id.h"

/* The kernel's own default bound for one process, vm.max_map_count, is 65,530. */
#define PROBE_MAPPINGS_MAX 65536U
#define PROBE_MAPS_FILES_MAX 16384U
#define PROBE_MAPS_NAMES_MAX (4U << 20)

struct probe_mapping {
	__u64 start, end, offset;
	__u32 prot; /* enum mapping_prot */
	__u32 file; /* 1 is the first of the files; 0: of none with code */
};

/* One that some mapping has code of. */
struct probe_mapped_file {
	struct file_id id; /* with has_id */
	__u64 inode; /* as the list of mappings has it; 0: no file ("[vdso]", code made at run time) */
	__u32 name; /* offset in names */
	bool has_id; /* it could be looked at */
};

struct probe_maps {
	const struct probe_mapping *mappings; /* by address; data without a file between are one */
	const struct probe_mapped_file *files;
	const char *names;
	__u32 mapping_cnt, file_cnt, names_len;
	bool cut; /* there was more */
	void *memory;
};

/* In a prober. dir: of /proc/PID. A descriptor of the list, or -ESRCH, -EACCES, -errno. */
int probe_maps_list(int dir) __attribute__((warn_unused_result));

/* In krait: the list of that descriptor, which stays the caller's. 0, -EPROTO, -errno. */
int probe_maps_read(int fd, struct probe_maps *ret) __attribute__((warn_unused_result, nonnull));
void probe_maps_free(struct probe_maps *m) __attribute__((nonnull));

static inline const char *probe_maps_name(const struct probe_maps *m,
					  const struct probe_mapped_file *file)
{
	return m->names + file->name;
}

#endif /* KRAIT_TARGET_PROBE_MAPS_H */
