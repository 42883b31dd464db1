/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_file.h - the file behind a mapping of a capture, if it is here and the one that was recorded:
 * a DSO of krait's, or native code.
 *
 * Must hold: a capture may name anything; what is no ordinary file is not opened, and what has
 * another build ID is not used.
 */
#ifndef KRAIT_IMPORT_OBJECT_FILE_H
#define KRAIT_IMPORT_OBJECT_FILE_H

#include <stdbool.h>

#include "dso/dso_reader.h"
#include "dso/kernel_names.h"
#include "dso/native_names.h"
#include "perfdata/perf_reader.h"
#include "symbol/native_files.h"

struct object_file {
	char *path;
	__u8 build_id[20];
	unsigned build_id_size;
	struct dso_reader *dso; /* if it is one of krait's */
	/* That the DSO has; NULL not asked for yet. */
	struct kernel_names *kernel;
	struct native_names *natives;
	bool is_dso; /* by its name; dso may be missing */
	struct module *native; /* NULL where it is another file now, or gone */
};

/* 0 or -ENOMEM. capture_path: to look beside it, NULL nowhere; native ones are owned by *files;
 * files NULL: none is opened. */
int object_file_open(struct object_file *f, const struct perf_read *record,
		     struct native_files *files, const char *capture_path)
	__attribute__((warn_unused_result));
void object_file_close(struct object_file *f);
/* The mapping is of this one. */
bool object_file_is(const struct object_file *f, const struct perf_read *record);
/* What the DSO, whose natives these are, says of that place of a native file; NULL unknown. */
const struct native_name *object_file_native(struct object_file *f, const char *path, __u64 offset);
/* What the DSO calls an address of the kernel; NULL unknown. */
const struct kernel_name *object_file_kernel(struct object_file *f, __u64 address);
#endif /* KRAIT_IMPORT_OBJECT_FILE_H */
