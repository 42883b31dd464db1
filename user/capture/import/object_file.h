/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_file.h - the file behind a mapping of a capture, if it exists here and is the recorded
 * one: a DSO of krait's, or native code.
 *
 * Must hold: a capture may name anything; only regular files are opened, and a file with another
 * build ID is not used.
 */
#ifndef KRAIT_CAPTURE_IMPORT_OBJECT_FILE_H
#define KRAIT_CAPTURE_IMPORT_OBJECT_FILE_H

#include <stdbool.h>

#include "capture/dso/dso_reader.h"
#include "capture/dso/kernel_names.h"
#include "capture/dso/native_names.h"
#include "capture/perfdata/perf_reader.h"
#include "native/names/native_files.h"

struct object_file {
	char *path;
	__u8 build_id[20];
	unsigned build_id_size;
	struct dso_reader *dso; /* if it is one of krait's */
	/* Those in the DSO; NULL: not read yet. */
	struct kernel_names *kernel;
	struct native_names *natives;
	bool is_dso; /* by its name; dso may be missing */
	struct module *native; /* NULL if the file is gone, or a different one now */
	bool asked; /* a server for its symbols */
};

/* Has it the form of a name of krait's libraries: "python-1a2b3c4d.so"? */
bool object_file_is_dso(const char *path);
/*
 * Opens one: beside the capture (NULL: there is none), wherever that is now; then at its path, which may be anybody's
 * file by now; then in the build-id cache. NULL: it is in none of these.
 */
struct dso_reader *object_file_open_dso(const char *named, const __u8 *build_id,
					unsigned build_id_size, const char *capture_path);

/*
 * Returns 0 or -ENOMEM. capture_path: also look beside it, NULL: nowhere; *files owns the native
 * ones; files NULL: open none; foreign, from
 * another kind of machine: only krait's own, and what has the recorded build ID.
 */
int object_file_open(struct object_file *f, const struct perf_read *record,
		     struct native_files *files, bool foreign, const char *capture_path)
	__attribute__((warn_unused_result));
void object_file_close(struct object_file *f);
/* Is the mapping of this file? */
bool object_file_is(const struct object_file *f, const struct perf_read *record);
/* What the DSO, which has the names, says about that place of a native file; NULL: unknown. */
const struct native_name *object_file_native(struct object_file *f, const char *path, __u64 offset);
/* The DSO's name for an address of the kernel; NULL: unknown. */
const struct kernel_name *object_file_kernel(struct object_file *f, __u64 address);
#endif /* KRAIT_CAPTURE_IMPORT_OBJECT_FILE_H */
