/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso.h - the synthetic libraries of a recording: they give every place in Python code an address.
 *
 * There is one slot of four bytes for each code unit of each code object seen, one more for "before
 * the first" (its first line) and one for "somewhere in it". A frame's address is its slot's + 1:
 * some readers subtract 1 from a caller's address, some do not, and either way they stay in the
 * slot. Marks and functions without a code object have a slot of their own.
 *
 * As an ELF file it has the functions as symbols, and DWARF for file, line and column, so that perf
 * and everything that reads its files shows Python by name and source. It is not a real library:
 * nothing is executed, and .text contains no-ops for disassemblers. If the opcode of a code unit is
 * known, the no-op has it as its operand (dso_nop.h): the function's instructions at krait's last
 * look, including those without samples.
 *
 * Initially there is one such library. When it has become large, the next generation takes over for
 * what comes later, with its own build ID and range of addresses. Only the newest one grows; so,
 * however long a recording is, updating the files costs no more than writing one generation.
 *
 * Must hold: an assigned address stays valid; a generation's file may be rewritten while it grows,
 * and never changes once there is a newer one.
 */
#ifndef KRAIT_CAPTURE_DSO_DSO_H
#define KRAIT_CAPTURE_DSO_DSO_H

#include <linux/types.h>

#include "profile/dict.h"
#include "profile/opcodes.h"

/* Where the first one is in every process: far from what kernels map, on x86-64 and arm64. */
#define DSO_BASE 0x100000000000ULL
/*
 * A place with a known opcode (profile/opcodes.h) has one more address for each opcode met there:
 * the plain one plus this stride times the opcode. The same file is mapped there once more, so
 * readers find what is there without knowing about it.
 */
#define DSO_OPCODE_STRIDE (1ULL << 32)
/* Addresses per generation; even the largest function, begun at the limit, has room. */
#define DSO_STRIDE (8U << 20)
/* 4 million functions; 200 times what a large program has. */
#define DSO_MAX_GENERATIONS 512U
/*
 * A generation with that many functions or bytes of slots is full. It is then a file of 4 to 8 MB,
 * which takes 40 ms to write.
 */
#define DSO_FULL_FUNCTIONS 8192U
#define DSO_FULL_TEXT (1U << 20)
#define DSO_TEXT_OFFSET 0x1000U
#define DSO_SLOT 4U
#define DSO_BUILD_ID_SIZE 20

/* The prefix of Python functions' symbols, as in CPython's own perf support. */
#define DSO_PYTHON_PREFIX "py::"
/* The section with the accounts, as lines "name value". */
#define DSO_NOTES_SECTION ".krait"

struct dso;

/* A run of slots, of a code object or else of a single frame. */
struct dso_function {
	/* Exactly one is not 0, except in the first function: the placeholder when there is no room. */
	__u32 code, frame;
	__u32 generation;
	__u32 offset; /* from the start of that generation's file, and of its mapping */
	__u32 slot_cnt;
};

/* NULL and errno on failure. */
struct dso *dso__new(void);
void dso__free(struct dso *d);

/* The address of a frame, of any kind but raw; 0: out of memory. */
__u64 dso__address(struct dso *d, const struct dict *dict, __u32 frame);

/* At least 1; all but the last are complete. */
__u32 dso__generations(const struct dso *d);
const __u8 *dso__build_id(const struct dso *d, __u32 generation);
/* In order of address. */
const struct dso_function *dso__functions(const struct dso *d, __u32 generation, __u32 *ret_cnt);
/* Offset of the end of the last slot. */
__u32 dso__end(const struct dso *d, __u32 generation);

/*
 * Source lines that travel are in files below that folder, too (DWARF's comp_dir), where perf annotate finds them: "./PATH" is
 * the file PATH. Returns 0 or -ENOMEM.
 */
int dso__keep_sources(struct dso *d, const char *folder) __attribute__((warn_unused_result));
/* NULL: none. */
const char *dso__sources(const struct dso *d);
#define DSO_KEPT_PREFIX "./"

/* Writes a generation as an ELF file; notes: text for DSO_NOTES_SECTION. Returns 0 or -errno. */
int dso__write(const struct dso *d, __u32 generation, const struct dict *dict, const char *notes,
	       int fd) __attribute__((warn_unused_result));

/* Where a generation is in every process. */
static inline __u64 dso_start(__u32 generation)
{
	return DSO_BASE + (__u64)generation * DSO_STRIDE;
}

/* Is it the address of a place? Then with which opcode, and in which generation? */
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

#endif /* KRAIT_CAPTURE_DSO_DSO_H */
