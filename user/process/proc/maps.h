/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * maps.h - reads /proc/PID/maps one mapping at a time, in the order of addresses.
 *
 * A process chooses how many mappings it has and how long and odd their names are, so nothing is
 * stored: one buffer of fixed size, one mapping at a time. A name that does not fit is cut and
 * marked. The kernel escapes only newlines in names, as \012; that is undone here.
 */
#ifndef KRAIT_PROCESS_PROC_MAPS_H
#define KRAIT_PROCESS_PROC_MAPS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Longest line kept whole: a path of PATH_MAX and the numbers before it. */
#define MAPS_LINE_MAX 4352

enum mapping_prot {
	MAPPING_READ = 1 << 0,
	MAPPING_WRITE = 1 << 1,
	MAPPING_EXEC = 1 << 2,
	MAPPING_SHARED = 1 << 3,
};

struct maps_line {
	__u64 start, end; /* [start, end) in the target */
	__u64 offset; /* in the file */
	__u64 inode; /* 0: no file */
	__u32 dev_major, dev_minor;
	__u32 prot; /* enum mapping_prot */
	bool deleted; /* the name ended in " (deleted)", which is removed */
	bool cut; /* the name is longer than path */
	const char *path; /* "": none; valid until the next call */
	/* /proc/PID/map_files/START-END leads to the file: start and end, unless its code was moved */
	__u64 link_start, link_end;
};

struct maps {
	int fd;
	bool eof;
	bool skip; /* the line before pos was cut: its rest must be skipped */
	size_t pos, len;
	/* For maps_next_code(): the end of the last line, if that was of a file, and a line read ahead. */
	struct maps_line last, ahead;
	int ahead_result;
	bool has_ahead;
	char buf[2 * MAPS_LINE_MAX];
};

/* Returns 0, or -ESRCH, -EACCES, -errno. A kernel thread or a zombie may look empty or give -ESRCH. */
int maps_open(struct maps *ret, pid_t pid) __attribute__((warn_unused_result, nonnull));
/* The same relative to /proc/PID (proc.h). */
int maps_open_at(struct maps *ret, int dir) __attribute__((warn_unused_result, nonnull));
/* The same from any file; m takes it over. */
void maps_open_fd(struct maps *ret, int fd) __attribute__((nonnull));
void maps_close(struct maps *m) __attribute__((nonnull));

/* Returns 1 and *ret filled, 0 at the end, -EINVAL for a malformed line, or -errno. */
int maps_next(struct maps *m, struct maps_line *ret) __attribute__((warn_unused_result, nonnull));

/*
 * The same, and knows code that was moved: programs and libraries copy their code into anonymous
 * memory at the same addresses, for huge pages. If such code lies exactly between two mappings of
 * one file, at the place in the file that follows from both, it is returned as that file's. Use one
 * of the two functions for a whole list.
 */
int maps_next_code(struct maps *m, struct maps_line *ret)
	__attribute__((warn_unused_result, nonnull));

/* Parses one line of len bytes, which it may change; line[len] must be writable. */
int maps_line_parse(char *line, size_t len, struct maps_line *ret)
	__attribute__((warn_unused_result, nonnull));

#define cleanup_maps __attribute__((cleanup(maps_close)))

#endif /* KRAIT_PROCESS_PROC_MAPS_H */
