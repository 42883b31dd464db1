/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_jobs.h - reads debug information in the background, with parsers (parser.h).
 *
 * Parsing a large file takes a second or two, and a debuginfod server may have to be asked first,
 * which can take a minute. Meanwhile krait goes on sampling: nothing here waits.
 *
 * The information is in the file itself, or in a separate one with the same build ID: below
 * /usr/lib/debug here or in the process's root (debug_file.h says whose it may be), or on a server
 * (fetcher.h).
 *
 * Must hold: at most two jobs run at once, for two users, plus one of root's. The answers for the
 * last few files are kept; the owner with most of them loses one first. The file of a kept answer
 * is held open, so nothing else gets its numbers meanwhile.
 */
#ifndef KRAIT_PROCESS_IDENTIFY_DWARF_JOBS_H
#define KRAIT_PROCESS_IDENTIFY_DWARF_JOBS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include <sys/types.h>

#include "bpf/abi.h"
#include "process/proc/file_id.h"

struct dwarf_jobs;
struct parsers;

/* A file to read; the strings are borrowed during the call. */
struct dwarf_request {
	struct file_id file; /* if another process maps the same file, it is not read again */
	uid_t uid; /* of the process: who pays for it */
	const char *path; /* of that file */
	const char *root; /* of the process, or "/" */
	__u32 version; /* PY_VERSION_HEX */
	const __u8 *build_id;
	__u32 build_id_len; /* 0 none */
};

/* The parsers are borrowed. NULL: out of memory. */
struct dwarf_jobs *dwarf_jobs__new(struct parsers *parsers)
	__attribute__((warn_unused_result, nonnull));
/* Stops running jobs. */
void dwarf_jobs__free(struct dwarf_jobs *jobs);

/*
 * Returns 0 and *ret; otherwise why says why, and the result is
 *  -ENOENT       no debug information, or not all of it
 *  -EINPROGRESS  being read, or waiting for another job: ask again
 *  -ETIMEDOUT    it took more than a minute
 *  -ENODATA      it could not be parsed
 */
int dwarf_jobs__get(struct dwarf_jobs *jobs, const struct dwarf_request *request,
		    struct py_offsets *ret, char *why, size_t why_size)
	__attribute__((warn_unused_result, nonnull));

/* Forgets all answers, and closes the files held for them. */
void dwarf_jobs__let_go(struct dwarf_jobs *jobs) __attribute__((nonnull));

/* Is that file being read, with the answer still to come? */
bool dwarf_jobs__is_running(struct dwarf_jobs *jobs, const struct file_id *file)
	__attribute__((nonnull));

#endif /* KRAIT_PROCESS_IDENTIFY_DWARF_JOBS_H */
