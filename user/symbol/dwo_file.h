/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwo_file.h - a file of split DWARF: a .dwo, with the separated part of one or a few compilation
 * units, or a package (.dwp) of many. A package has an index that says where in each section a
 * unit's part is.
 *
 * libdw 0.188 does not support packages, and opens .dwo files itself, by names from an untrusted
 * file.
 *
 * Must hold: the file is untrusted, so this runs in a parser only. It is read, never mapped:
 * truncating it causes errors only, and a package may exceed a parser's address space. Nothing
 * outside of a section is read.
 */
#ifndef KRAIT_SYMBOL_DWO_FILE_H
#define KRAIT_SYMBOL_DWO_FILE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* All compressed sections together, unpacked. */
#define DWO_UNPACKED_MAX (64U << 20)

enum dwo_section {
	DWO_INFO,
	DWO_ABBREV,
	DWO_STR_OFFSETS,
	DWO_RNGLISTS,
	DWO_STR,
	DWO_CU_INDEX,
	DWO_SECTION_CNT
};

/* A part of a section; .size 0: none. */
struct dwo_piece {
	__u64 at, size;
};

struct dwo_file {
	int fd; /* owned; -1: none */
	struct dwo_piece sections[DWO_SECTION_CNT]; /* in the file */
	__u8 *unpacked[DWO_SECTION_CNT]; /* NULL: not compressed, read from the file */
};

/*
 * The caller keeps the descriptor. Returns 0; -ENOEXEC: no split DWARF in it; -E2BIG; -errno. On
 * failure nothing is left open.
 */
int dwo_file_open(struct dwo_file *ret, int fd) __attribute__((warn_unused_result, nonnull));
void dwo_file_close(struct dwo_file *f) __attribute__((nonnull));

/*
 * The unit's parts: in a package according to the index, otherwise all of each section. Returns 0,
 * -ENOENT, -EBADMSG.
 */
int dwo_file_pieces(const struct dwo_file *f, __u64 id, struct dwo_piece ret[DWO_SECTION_CNT])
	__attribute__((warn_unused_result, nonnull));

/*
 * Reads exactly that many bytes of the part. Returns 0; -ENODATA: it is shorter, or the file was
 * truncated; -errno.
 */
int dwo_file_read(const struct dwo_file *f, enum dwo_section section, const struct dwo_piece *piece,
		  __u64 at, void *buf, size_t len) __attribute__((warn_unused_result, nonnull));

/* The text at that offset of .debug_str.dwo, at most max bytes; the caller frees it. NULL: none. */
char *dwo_file_text(const struct dwo_file *f, __u64 at, size_t max)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_SYMBOL_DWO_FILE_H */
