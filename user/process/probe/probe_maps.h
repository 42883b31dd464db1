/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_maps.h - the mappings of a process: a prober lists them, krait reads the list.
 *
 * The list is a file in memory, since it can be longer than a message: a header, mappings by
 * address, the files with code, their names. A process chooses how many mappings it has, so there
 * are limits; a list that was cut says so.
 *
 * Must hold: the reader follows no offset or index that it has not checked.
 */
#ifndef KRAIT_PROCESS_PROBE_PROBE_MAPS_H
#define KRAIT_PROCESS_PROBE_PROBE_MAPS_H

#include <linux/types.h>
#include <stdbool.h>

#include "process/proc/file_id.h"

/* The kernel's own default bound for one process, vm.max_map_count, is 65,530. */
#define PROBE_MAPPINGS_MAX 65536U
#define PROBE_MAPS_FILES_MAX 16384U
#define PROBE_MAPS_NAMES_MAX (4U << 20)

struct probe_mapping {
	__u64 start, end, offset;
	__u32 prot; /* enum mapping_prot */
	__u32 file; /* 1: the first of the files; 0: no file with code */
};

/* A file with code in some mapping. */
struct probe_mapped_file {
	struct file_id id; /* valid with has_id */
	__u64 inode; /* as in the list of mappings; 0: no file ("[vdso]", code made at run time) */
	__u32 name; /* offset in names */
	bool has_id; /* it could be examined */
};

struct probe_maps {
	/* by address; adjacent data is merged unless a file intervenes */
	const struct probe_mapping *mappings;
	const struct probe_mapped_file *files;
	const char *names;
	__u32 mapping_cnt, file_cnt, names_len;
	bool cut; /* there were more */
	void *memory;
};

/* In a prober. dir: of /proc/PID. Returns a descriptor of the list, or -ESRCH, -EACCES, -errno. */
int probe_maps_list(int dir) __attribute__((warn_unused_result));

/*
 * In krait: reads the list from that descriptor, which the caller keeps. Returns 0, -EPROTO,
 * -errno.
 */
int probe_maps_read(int fd, struct probe_maps *ret) __attribute__((warn_unused_result, nonnull));
void probe_maps_free(struct probe_maps *m) __attribute__((nonnull));

static inline const char *probe_maps_name(const struct probe_maps *m,
					  const struct probe_mapped_file *file)
{
	return m->names + file->name;
}

#endif /* KRAIT_PROCESS_PROBE_PROBE_MAPS_H */
