/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * opcodes.h - what an instruction of CPython's is called, and what kind of form it is: a number per minor version,
 * from tables that the interpreters themselves made (scripts/gen-opcodes).
 *
 * An opcode of a profile has its minor in it, so that one of 3.11 and one of 3.15 are two: frames, captures and
 * outputs carry that number. 0 is "unknown".
 *
 * Must hold: any number has a name; one that no table has is shown as what it is.
 */
#ifndef KRAIT_PROFILE_OPCODES_H
#define KRAIT_PROFILE_OPCODES_H

#include <linux/types.h>

#define OPCODE_MINOR_FIRST 8
#define OPCODE_MINOR_LAST 15
/* The name of an opcode that no table has, with its end. */
#define OPCODE_NAME_SIZE 64
/* All of them are below. */
#define OPCODE_LIMIT 4096

/* What an instruction is by now. */
enum opcode_form {
	OPCODE_PLAIN, /* there is only this one */
	OPCODE_GENERIC, /* there are forms for special cases, and it is in none */
	OPCODE_SPECIAL, /* it is one of those */
	OPCODE_INSTRUMENTED, /* sys.monitoring, a debugger or a coverage tool wants to know of it */
	OPCODE_JIT, /* a trace of the JIT, or of its interpreter, begins here: what runs in it */
	OPCODE_FORM_CNT
};

struct opcode_info {
	const char *name; /* NULL: there is no such opcode */
	__u8 base; /* what it is a form of: itself, if of nothing else */
	__u8 caches; /* code units of inline cache behind it */
	__u8 form; /* enum opcode_form */
};

/* By minor and opcode; opcode_tables.c. */
extern const struct opcode_info *const opcode_tables[OPCODE_MINOR_LAST - OPCODE_MINOR_FIRST + 1];

/* The number of an opcode of that version (PY_VERSION_HEX); 0: that version is not known, or the byte is none. */
__u16 opcode_of(__u32 version, __u8 byte);
/* NULL where no table has it. */
const struct opcode_info *opcode_info(__u16 opcode);
/* "LOAD_ATTR_INSTANCE_VALUE", "opcode 3.11:255", or "" of 0; in buf, or a constant. */
const char *opcode_name(__u16 opcode, char buf[OPCODE_NAME_SIZE]);
/* What it is a form of: "LOAD_ATTR". */
const char *opcode_base_name(__u16 opcode, char buf[OPCODE_NAME_SIZE]);
/* The minor version that it is of: 15; 0 of an unknown opcode. */
unsigned opcode_minor(__u16 opcode);
enum opcode_form opcode_form(__u16 opcode);
/* "special", ...: what outputs call the form; of a plain one "". */
const char *opcode_form_name(enum opcode_form form);

#endif /* KRAIT_PROFILE_OPCODES_H */
