/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso.h - the synthetic libraries of a recording: an address for every place in Python code.
 *
 * One slot of four bytes for each code unit of each code object seen, one more for "before the first"
 * (its first line) and one for "somewhere in it". A frame's address is its slot's + 1: some readers take 1
 * off a caller's address, some do not, and all stay in the slot. Marks and functions without a code object
 * have a slot of their own.
 *
 * As an ELF file it has the functions as symbols, and DWARF for file, line and column, so that perf
 * and all that reads its files show Python by name and source. It is not a real library: nothing is
 * executed, .text holds no-ops for disassemblers. That of a code unit whose opcode is known has it as its operand
 * (dso_nop.h): what a function's instructions were when krait looked last, those without samples, too.
 *
 * There is one such library at first. When it has become large, the next generation takes its place
 * for what comes later, with a build ID and a range of addresses of its own. Only the newest one
 * grows; so, however long a recording is, bringing the files up to date costs no more than writing
 * one generation.
 *
 * Must hold: an address once given stays true; a generation's file may be written again and again
 * while it grows, and never changes when there is a newer one.
 */
#ifndef KRAIT_DSO_DSO_H
#define KRAIT_DSO_DSO_H

#include <linux/types.h>

#include "profile/dict.h"
#include "profile/opcodes.h"

/* Where the first is in every process: far from what kernels map, on x86-64 and arm64. */
#define DSO_BASE 0x100000000000ULL
/*
 * A place whose opcode is known (profile/opcodes.h) has one more address for each opcode that was met there: that far
 * above the plain one, times the opcode. The same file is mapped there once more, so readers find what is
 * there without knowing about it.
 */
#define DSO_OPCODE_STRIDE (1ULL << 32)
/* Each generation has that many addresses; the largest function, begun at its end, has room. */
#define DSO_STRIDE (8U << 20)
/* 4 million functions; 200 times what a large program has. */
#define DSO_MAX_GENERATIONS 512U
/*
 * With so many functions or bytes of slots a generation is full. It is then a file of 4 to 8 MB, which
 * takes 40 ms to write.
 */
#define DSO_FULL_FUNCTIONS 8192U
#define DSO_FULL_TEXT (1U << 20)
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
	__u32 code,
		frame; /* exactly one is non-zero, except in the first: the placeholder when there is no room */
	__u32 generation;
	__u32 offset; /* from the start of that generation's file, and of its mapping */
	__u32 slot_cnt;
};

/* NULL and errno on failure. */
struct dso *dso__new(void);
void dso__free(struct dso *d);

/* The address of a frame, of any kind that is not raw; 0 when out of memory. */
__u64 dso__address(struct dso *d, const struct dict *dict, __u32 frame);

/* At least 1; all but the last are complete. */
__u32 dso__generations(const struct dso *d);
const __u8 *dso__build_id(const struct dso *d, __u32 generation);
/* In order of address. */
const struct dso_function *dso__functions(const struct dso *d, __u32 generation, __u32 *ret_cnt);
/* End of the last slot, as an offset. */
__u32 dso__end(const struct dso *d, __u32 generation);

/* Writes a generation as an ELF file; notes: text for DSO_NOTES_SECTION. 0 or -errno. */
int dso__write(const struct dso *d, __u32 generation, const struct dict *dict, const char *notes,
	       int fd) __attribute__((warn_unused_result));

/* Where a generation is in every process. */
static inline __u64 dso_start(__u32 generation)
{
	return DSO_BASE + (__u64)generation * DSO_STRIDE;
}

/* Is it an address of a place, and of which opcode and generation? */
static inline bool dso_has(__u64 address)
{
	return address - DSO_BASE < OPCODE_LIMIT * DSO_OPCODE_STRIDE;
}

static inline __u16 dso_opcode(__u64 address)
{
	return (__u16)((address - DSO_BASE) / DSO_OPCODE_STRIDE);
}

static inline __u32 dso_generation(__u64 address)
{
	return (__u32)((address - DSO_BASE) % DSO_OPCODE_STRIDE / DSO_STRIDE);
}

#endif /* KRAIT_DSO_DSO_H */
