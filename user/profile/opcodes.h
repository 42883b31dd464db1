/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * opcodes.h - what a CPython instruction is called, and which kind of form it is, by a number per
 * minor version; the interpreters themselves made the tables (scripts/gen-opcodes).
 *
 * An opcode in a profile includes its minor version, so one of 3.11 differs from one of 3.15:
 * frames, captures and outputs use that number. 0 is "unknown".
 *
 * Must hold: any number has a name; a number in no table is shown as itself.
 */
#ifndef KRAIT_PROFILE_OPCODES_H
#define KRAIT_PROFILE_OPCODES_H

#include <linux/types.h>

#define OPCODE_MINOR_FIRST 8
#define OPCODE_MINOR_LAST 15
/* The longest name of an opcode that is in no table, with its NUL. */
#define OPCODE_NAME_SIZE 64
/* All opcodes are below. */
#define OPCODE_LIMIT 4096

/* The current form of an instruction. */
enum opcode_form {
	OPCODE_PLAIN, /* it has only this form */
	OPCODE_GENERIC, /* it has specialised forms, but is not in one now */
	OPCODE_SPECIAL, /* it is in one of these */
	OPCODE_INSTRUMENTED, /* sys.monitoring, a debugger or a coverage tool watches it */
	/* a trace of the JIT, or of its interpreter, begins here: time is spent in the trace */
	OPCODE_JIT,
	OPCODE_FORM_CNT
};

struct opcode_info {
	const char *name;
	__u8 caches; /* code units of inline cache that follow */
	__u8 form; /* enum opcode_form */
	__u8 bytes[OPCODE_MINOR_LAST - OPCODE_MINOR_FIRST + 1]; /* by minor; 0: it has none such */
};

/* An instruction has a row for each way in which versions differ; opcode_tables.c. */
extern const struct opcode_info opcodes_known[];
extern const unsigned opcodes_known_cnt;

/* The number for an opcode byte of that version (PY_VERSION_HEX); 0: unknown version, or no opcode. */
__u16 opcode_of(__u32 version, __u8 byte);
/* NULL: in no table. */
const struct opcode_info *opcode_info(__u16 opcode);
/* "LOAD_ATTR_INSTANCE_VALUE", "opcode 3.11:255", or "" for 0; in buf, or a constant. */
const char *opcode_name(__u16 opcode, char buf[OPCODE_NAME_SIZE]);
/* Its minor version: 15; 0 for an unknown opcode. */
unsigned opcode_minor(__u16 opcode);
enum opcode_form opcode_form(__u16 opcode);
/* "special", ...: the name of the form in outputs; "" for a plain one. */
const char *opcode_form_name(enum opcode_form form);

#endif /* KRAIT_PROFILE_OPCODES_H */
