/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso.h - the synthetic library of a recording: an address for every place in Python code.
 *
 * One slot of four bytes for each code unit of each code object seen, one more for "before the first"
 * (its first line) and one for "somewhere in it". A frame's address is its slot's + 1: some readers take 1 off a caller's address, some do not,
 * and all stay in the slot. Marks and functions without a code object have a slot of their own.
 *
 * As an ELF file it has the functions as symbols, and DWARF for file, line and column, so that perf
 * and all that reads its files show Python by name and source. It is not a real library: nothing is
 * executed, .text holds no-ops for disassemblers.
 *
 * Must hold: an address once given stays true; the file may be written again and again as it grows.
 */
#ifndef KRAIT_CAPTURE_DSO_H
#define KRAIT_CAPTURE_DSO_H

#include <linux/types.h>

#include "profile/profile.h"

/* Where it is in every process: far from what kernels map, on x86-64 and arm64. */
#define DSO_BASE 0x100000000000ULL
/* Slots for 64 million code units; 500 times what a large program has. */
#define DSO_MAX_TEXT (256U << 20)
#define DSO_TEXT_OFFSET 0x1000U
#define DSO_SLOT 4U
#define DSO_BUILD_ID_SIZE 20

/* How symbols of Python functions start, as CPython's own perf support has it. */
#define DSO_PYTHON_PREFIX "py::"
/* The section with the accounts, as lines "name value". */
#define DSO_NOTES_SECTION ".krait"

struct dso;

/* A run of slots. Of a code object, or else of one frame. */
struct dso_function {
	__u32 code, frame; /* one of them is 0; both of the first, which is for want of room */
	__u32 offset; /* from the start of the file, and of the mapping */
	__u32 slot_cnt;
};

/* NULL and errno on failure. */
struct dso *dso__new(void);
void dso__free(struct dso *d);

/* The address of a frame, of any kind that is not raw; 0 when out of memory. */
__u64 dso__address(struct dso *d, const struct profile *p, __u32 frame);

const __u8 *dso__build_id(const struct dso *d);
/* In order of address. */
const struct dso_function *dso__functions(const struct dso *d, __u32 *ret_cnt);
/* End of the last slot, as an offset. */
__u32 dso__end(const struct dso *d);

/* Writes it as an ELF file; notes: text for DSO_NOTES_SECTION. 0 or -errno. */
int dso__write(const struct dso *d, const struct profile *p, const char *notes, int fd)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CAPTURE_DSO_H */
