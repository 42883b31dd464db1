/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_reader.h - reads code objects from one process's memory, and proves that they are the ones
 * that were interrupted.
 *
 * Owns what proofs share: the type of code objects, and the last generation that was read. Keeps no
 * code object.
 */
#ifndef KRAIT_PYTHON_CODE_CODE_READER_H
#define KRAIT_PYTHON_CODE_CODE_READER_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"
#include "base/data/memory.h"

struct code_entry;

/* A code object that was alive at an interrupt, and the position in it. */
struct code_query {
	__u64 code_addr;
	__u64 interp_addr; /* whose code_object_generation counts; 0: none */
	__u64 code_generation; /* at the interrupt; ignored if the layout has none */
	__u32 fingerprint; /* at the interrupt; 0: not taken */
	__s32 instr_off;
};

struct code_reader {
	struct py_offsets offsets;
	struct memory memory;
	__u64 type_addr; /* PyCode_Type; 0 until a whole code object was read */
	/* The generation as last read: a lower bound, used for all frames of a batch. */
	__u64 seen_interp_addr, seen_generation;
	__u64 reads, revalidations; /* so far */
};

/* Does what was read earlier answer the query? */
bool code_reader_is_proved(const struct code_reader *r, const struct code_entry *e,
			   const struct code_query *q);
/*
 * Is the object of an entry still there? Returns 1: yes, and the entry now covers the query; 0:
 * another one is there; -EAGAIN: nothing is known about the time of the query.
 */
int code_reader_revalidate(struct code_reader *r, const struct code_query *q, struct code_entry *e);
/*
 * Reads the object into e, which is empty. *ret_proved says whether it is the query's. Returns 0 or
 * -errno.
 */
int code_reader_read(struct code_reader *r, const struct code_query *q, struct code_entry *e,
		     bool *ret_proved);
/* May the object at the address differ from the one at the interrupt? */
bool code_reader_is_past(struct code_reader *r, const struct code_query *q);

/*
 * Reads a snapshot's object as it is in the target now. Returns 0, or -errno: it cannot be read, or
 * is another one.
 */
int code_reader_read_defined(struct code_reader *r, const struct record_code *record,
			     struct code_entry *e);
/*
 * The current opcodes of the object that e was read from, a byte for each of its units. Returns 0;
 * -ENOENT: another object is there; -errno.
 */
int code_reader_opcodes(struct code_reader *r, const struct code_entry *e, __u8 *ret,
			__u32 unit_cnt);

#endif /* KRAIT_PYTHON_CODE_CODE_READER_H */
