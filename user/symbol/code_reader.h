/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_reader.h - code objects read from one process's memory, with the proof that they are those which were interrupted.
 *
 * Owns what proofs have in common: the type of code objects, and the last generation that was read. Keeps no code object.
 */
#ifndef KRAIT_SYMBOL_CODE_READER_H
#define KRAIT_SYMBOL_CODE_READER_H

#include <linux/types.h>
#include <stdbool.h>

#include "abi.h"
#include "util/memory.h"

struct code_entry;

/* A code object that was alive at an interrupt, and where in it. */
struct code_query {
	__u64 code_addr;
	__u64 interp_addr; /* whose code_object_generation counts; 0 none */
	__u64 code_generation; /* at the interrupt; ignored where the layout has none */
	__u32 fingerprint; /* at the interrupt, 0 = not taken */
	__s32 instr_off;
};

struct code_reader {
	struct py_offsets offsets;
	struct memory memory;
	__u64 type_addr; /* PyCode_Type, 0 until a whole code object was read */
	/* The generation as last read: a lower bound that serves all frames of a batch. */
	__u64 seen_interp_addr, seen_generation;
	__u64 reads, revalidations; /* so far */
};

/* Whether what was read before answers the query. */
bool code_reader_is_proved(const struct code_reader *r, const struct code_entry *e,
			   const struct code_query *q);
/*
 * Looks whether the object of an entry is still there. 1: it is, and the entry now covers the query; 0: another one is;
 * -EAGAIN: nothing can be said about the time of the query.
 */
int code_reader_revalidate(struct code_reader *r, const struct code_query *q, struct code_entry *e);
/* Reads the object into e, which is empty. *ret_proved says whether it is the one of the query. 0 or -errno. */
int code_reader_read(struct code_reader *r, const struct code_query *q, struct code_entry *e,
		     bool *ret_proved);
/* Whether what is at the address need not be what was there at the interrupt. */
bool code_reader_is_past(struct code_reader *r, const struct code_query *q);

/* The object of a snapshot as it is in the target now. 0, or -errno: it cannot be read, or is another one. */
int code_reader_read_defined(struct code_reader *r, const struct record_code *record,
			     struct code_entry *e);
/*
 * The opcodes of the object that e was read from, a byte for each of its units, as they are by now. 0; -ENOENT: another
 * object is there; -errno.
 */
int code_reader_opcodes(struct code_reader *r, const struct code_entry *e, __u8 *ret,
			__u32 unit_cnt);

#endif /* KRAIT_SYMBOL_CODE_READER_H */
