/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * identify.h - the live half of py_process_identify_fds(): is this copy of the runtime the one in use?
 *
 * Files only make proposals. The table is read again from the process, the live bytes are the ones
 * that are parsed, and among several copies the one that has interpreters wins.
 */
#ifndef KRAIT_PROCESS_IDENTIFY_IDENTIFY_H
#define KRAIT_PROCESS_IDENTIFY_IDENTIFY_H

#include <stdbool.h>

#include "process/elf/elf_runtime.h"
#include "process/proc/maps.h"
#include "process/identify/py_process.h"

struct elf_cache;
struct remote;

/* Files of one process to look at; one with a thousand libraries has a thousand. */
#define IDENTIFY_FILES_MAX 4096
/* Files that cannot be opened and are looked at in memory. */
#define IDENTIFY_UNOPENED_MAX 64
/* Files that are examined for a second interpreter. */
#define IDENTIFY_SECONDS_MAX 8
/* The last files without a runtime are remembered. */
#define IDENTIFY_EMPTY_MAX 16

struct identify_empty {
	__u64 inode;
	__u32 dev_major, dev_minor;
};

/* One identification under way. */
struct identify {
	struct elf_cache *cache;
	struct py_process *found; /* the best so far */
	/*
	 * result for found: 0, -ENOTSUP, -EAGAIN, -EINPROGRESS, -ENODATA, -EACCES; -ENOEXEC:
	 * nothing yet
	 */
	int result;
	bool done; /* it cannot get better */
	unsigned inspected, unopened; /* files; the latter are among the former */
	char first[128]; /* name of the first file inspected */
	char first_unopened[128]; /* of the first one that could not be opened, and why not */
	int first_error;
	__u64 unopened_at[IDENTIFY_UNOPENED_MAX]; /* where their beginnings are mapped */
	__u32 version; /* of the copy being examined */
	enum py_source source;
	int dir; /* /proc/PID */
	struct remote *remote; /* opened on first use */
	int file; /* O_PATH of the file being examined, or -1 */
	bool file_remote; /* as in struct py_process */
	int found_file; /* O_PATH of the best so far, or -1 */
	struct identify_empty empty[IDENTIFY_EMPTY_MAX];
	unsigned empty_at;
	bool files_cut; /* there were more files */
	/* The names of loaded files: PyPy's, or some Python's, which is like. */
	bool like_pypy, like_python;
	char like[128];
	__u64 end; /* of the last mapping seen */
	unsigned seconds; /* files that were examined for a second interpreter */
};

/* The file mapped from its beginning at m->start has a runtime: examines it in live memory. */
void identify_mapped(struct identify *s, const struct maps_line *m, const struct elf_runtime *elf,
		     enum py_build build) __attribute__((nonnull));

/*
 * The same for a file mapped beside the one that was found: if an interpreter runs there, too, it is
 * noted.
 */
void identify_second(struct identify *s, const struct maps_line *m, const struct elf_runtime *elf,
		     enum py_build build) __attribute__((nonnull));

/*
 * Examines files that could not be opened, as the process has them in memory. build: whether that
 * is its executable. Returns 0 or -errno.
 */
int identify_unopened(struct identify *s) __attribute__((warn_unused_result, nonnull));

/*
 * The last resort if files cannot be opened: searches writable memory for the cookie, up to a
 * bound. Returns 0 or -errno.
 */
int identify_scan(struct identify *s) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_IDENTIFY_IDENTIFY_H */
