/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * core_file.h - an ELF core as a struct memory, with its threads and the mapped files. Runs in a
 * process without rights, since the file is untrusted.
 *
 * What the kernel did not write into the core (code and constants of files) is read from the files
 * themselves, if given. They must begin with the same bytes as in the core: the ELF headers and
 * with them the build ID.
 *
 * Must hold: no allocation depends on a number of the file beyond the bounds here; reads are
 * bounded by the file.
 */
#ifndef KRAIT_LOOK_CORE_CORE_FILE_H
#define KRAIT_LOOK_CORE_CORE_FILE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bpf/arch.h"
#include "base/data/memory.h"

#define CORE_SEGMENTS_MAX 131072U
#define CORE_THREADS_MAX 16384U
#define CORE_MAPPINGS_MAX 65536U
/* Limit on files that are mapped from their beginning, which we may read. */
#define CORE_FILES_MAX 1024U
#define CORE_NOTES_MAX (64U << 20)

struct core_thread {
	pid_t tid; /* in the process's own pid namespace */
	int signal; /* that ended it; 0: none */
	__s64 syscall; /* -1: in none */
	__u64 args[6];
	__u64 stack_ptr, ip;
	__u64 regs[UNWIND_SAVED_WORDS];
};

struct core_mapping {
	__u64 start, end, offset; /* of a file, in bytes */
	__u32 file;
};

struct core_segment {
	__u64 start, size, file_size, offset;
	bool writable, executable;
};

struct core_mapped {
	const char *name; /* any bytes; points into names */
	__u64 base; /* where its beginning is mapped */
	int fd; /* -1: not given, or a different file */
};

/* Bytes that neither the core nor a file has, but that follow from what the core has. */
struct core_known {
	__u64 addr;
	char text[8];
};

struct core_file {
	struct core_known known; /* addr 0: none */
	int fd; /* borrowed */
	__u64 size;
	struct core_segment *segments; /* sorted by address */
	struct core_mapping *mappings; /* sorted by address */
	struct core_mapped *files;
	struct core_thread *threads; /* the one that crashed comes first */
	__u32 segment_cnt, segment_cap, mapping_cnt, mapping_cap, file_cnt, file_cap, thread_cnt,
		thread_cap;
	char *names; /* of files, copied from the core */
	char comm[16]; /* NUL-terminated */
	pid_t pid;
	struct memory memory;
};

/*
 * Returns 0, or -ENOEXEC with a sentence in why. The descriptor stays the caller's; c must not
 * move.
 */
int core_file_open(struct core_file *c, int fd, char *why, size_t why_size)
	__attribute__((warn_unused_result, nonnull));
void core_file_close(struct core_file *c) __attribute__((nonnull));

/*
 * Lists mappings of code by address: at most cnt, from the *at-th mapping on; advances *at. Returns
 * how many; 0: no more.
 */
__u32 core_file_code(const struct core_file *c, __u32 *at, struct core_mapping *ret, __u32 cnt)
	__attribute__((nonnull));

/*
 * Offers a file that may be that one. Returns 0 (it is used from now on) or -ESTALE (it is another
 * one).
 */
int core_file_give(struct core_file *c, __u32 file, int fd)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_LOOK_CORE_CORE_FILE_H */
