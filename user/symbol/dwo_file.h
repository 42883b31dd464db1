/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwo_file.h - a file of split DWARF: a .dwo, which has what compilers have put apart of one compilation unit or a few,
 * or a package (.dwp) of many. An index of a package says where in each section a unit has its piece.
 *
 * libdw 0.188 knows no packages, and opens .dwo files itself, by names from a file that is anybody's.
 *
 * Must hold: the file is anybody's, so this runs in a parser only. It is read, never mapped: who cuts it gets errors,
 * and a package may be larger than a parser's address space. Nothing is read that lies outside of a section.
 */
#ifndef KRAIT_SYMBOL_DWO_FILE_H
#define KRAIT_SYMBOL_DWO_FILE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Of all sections that are compressed, unpacked. */
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

/* A piece of a section; .size 0: none. */
struct dwo_piece {
	__u64 at, size;
};

struct dwo_file {
	int fd; /* owned; -1 none */
	struct dwo_piece sections[DWO_SECTION_CNT]; /* in the file */
	__u8 *unpacked[DWO_SECTION_CNT]; /* NULL: it lies in the file as it is */
};

/* The descriptor stays the caller's. 0; -ENOEXEC: it has no split DWARF; -E2BIG; -errno. On failure nothing is left open. */
int dwo_file_open(struct dwo_file *ret, int fd) __attribute__((warn_unused_result, nonnull));
void dwo_file_close(struct dwo_file *f) __attribute__((nonnull));
bool dwo_file_is_package(const struct dwo_file *f) __attribute__((nonnull));

/* Where that unit has its pieces: in a package as it says, otherwise all of each section. 0, -ENOENT, -EBADMSG. */
int dwo_file_pieces(const struct dwo_file *f, __u64 id, struct dwo_piece ret[DWO_SECTION_CNT])
	__attribute__((warn_unused_result, nonnull));

/* Exactly so many bytes of the piece. 0; -ENODATA: it has not so many, or the file was cut; -errno. */
int dwo_file_read(const struct dwo_file *f, enum dwo_section section, const struct dwo_piece *piece,
		  __u64 at, void *buf, size_t len) __attribute__((warn_unused_result, nonnull));

/* The text at that place of .debug_str.dwo, of at most max bytes; the caller's to free. NULL: none. */
char *dwo_file_text(const struct dwo_file *f, __u64 at, size_t max)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_SYMBOL_DWO_FILE_H */
