/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fingerprint.h - distinguishes code objects that lie at the same address at different times.
 *
 * A fingerprint mixes to 32 bits: the object's key (pointers to qualname, filename and line table,
 * the first line and, from 3.12 on, co_version), and what the three pointers lead to: the texts, and
 * the line table. pymalloc hands the same blocks out again, so addresses alone are equal for objects
 * that a program makes and drops in turn; co_version is equal if an interpreter was destroyed and
 * another one has come as far.
 *
 * What the interpreter changes while code runs is left out: the bytecode (it specialises), warm-up
 * counters, reference counts, a string's cached hash and whether it is interned.
 *
 * The kernel takes it in the interrupt, user space from the same memory; both call this. It is never
 * 0, which means "not taken".
 *
 * Must hold: of each text and line table at most CODE_CONTENTS_MAX bytes count, besides its length.
 */
#ifndef KRAIT_BPF_PYTHON_FINGERPRINT_H
#define KRAIT_BPF_PYTHON_FINGERPRINT_H

#include "bpf/abi.h"
#include "bpf/bounds.h"
#include "bpf/read.h"

#define CODE_CONTENTS_MAX 4096
/* A greater length is none: user space reads no longer table either (LINETABLE_MAX_SZ). */
#define CODE_LENGTH_MAX (4ULL << 20)
/* What is read at once of a string or bytes object: all of most. A header has at most 88 bytes. */
#define CODE_CONTENTS_HEAD 128

/* Words that are mixed in at once. */
#define CONTENTS_TURN 16U

static inline __u64 fingerprint_mix(__u64 hash, __u64 value)
{
	hash ^= value;
	hash *= 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}

/* Memory for the contents of one code object. */
struct code_contents {
	READ_MEMBER
	__u64 hash; /* of the key and what has been read so far */
	__u32 size, pad_; /* of what is mixed in */
	__u8 data[CODE_CONTENTS_HEAD + CODE_CONTENTS_MAX + 8 * CONTENTS_TURN];
};

#define CODE_FIELD(window, off, field) window_u64(window, (off)->code.field, CODE_WINDOW_MASK)

static __always_inline __u64 code_name_addr(const __u8 *window, const struct py_offsets *off)
{
	return off->code.qualname == PYOFF_ABSENT ? CODE_FIELD(window, off, name) :
						    CODE_FIELD(window, off, qualname);
}

/* co_version; 0: there is none, or the interpreter has used up its numbers. */
static __always_inline __u32 code_version(const __u8 *window, const struct py_offsets *off)
{
	return off->code.version == PYOFF_ABSENT ?
		       0 :
		       window_u32(window, off->code.version, CODE_WINDOW_MASK);
}

/*
 * The key of the code object whose first bytes are in the window. Each sample takes one for each
 * frame, so the multiplications do not wait for each other.
 */
static __always_inline __u64 code_key(const __u8 *window, const struct py_offsets *off)
{
	__u64 line = window_u32(window, off->code.firstlineno, CODE_WINDOW_MASK);

	return code_name_addr(window, off) * 0x9e3779b97f4a7c15ULL ^
	       CODE_FIELD(window, off, filename) * 0xc2b2ae3d27d4eb4fULL ^
	       CODE_FIELD(window, off, linetable) * 0x165667b19e3779f9ULL ^
	       (line | (__u64)code_version(window, off) << 32) * 0x27d4eb2f165667c5ULL;
}

static __always_inline __u64 contents_mix_word(__u64 hash, __u64 word)
{
	hash = (hash + word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 32);
}

/* What a turn multiplies its words with: odd multiples of this, as its products must not wait for each other. */
#define CONTENTS_FACTOR 0x9e3779b97f4a7c15ULL

/* Mixes in the words of one turn. */
static __always_inline __u64 contents_mix_turn(__u64 hash, const __u8 *data)
{
	__u64 sum = 0;

	for (__u32 i = 0; i < CONTENTS_TURN; i++)
		sum += window_u64(data, 8 * i, ~0U) * (CONTENTS_FACTOR * (2 * i + 1));
	return contents_mix_word(hash, sum);
}

/*
 * Mixes size bytes of c->data, from pos on, into c->hash. In the kernel it, and each turn, is a global
 * function: the verifier follows each once (code_snapshot.h).
 */
#ifdef __bpf__
static void contents_add(struct code_contents *c, __u32 pos, __u32 size);
static __always_inline int contents_turn(struct code_contents *c, __u32 pos);
#else
static inline int contents_turn(struct code_contents *c, __u32 pos)
{
	c->hash = contents_mix_turn(c->hash, c->data + pos);
	return 0;
}
#endif

static __always_inline void contents_mix(struct code_contents *c, __u32 pos, __u32 size)
{
	__u8 *rest;

	c->size = at_most(size, CODE_CONTENTS_MAX);
	/* As memory has it: the verifier would go on once for each way that led here. */
	size = at_most(*(volatile __u32 *)&c->size, CODE_CONTENTS_MAX);
	/* What is not there counts 0. */
	rest = &c->data[pos + size];
#ifdef __bpf__
#pragma unroll
	for (__u32 i = 0; i < CONTENTS_TURN; i++)
		*(__u64 *)(rest + 8 * i) = 0;
#else
	memset(rest, 0, 8 * CONTENTS_TURN);
#endif
	for (__u32 at = 0; at <= CODE_CONTENTS_MAX && at <= size; at += 8 * CONTENTS_TURN) {
		if (contents_turn(c, pos + at))
			return;
	}
}

#ifndef __bpf__
static inline void contents_add(struct code_contents *c, __u32 pos, __u32 size)
{
	contents_mix(c, pos, size);
}
#endif

/*
 * Adds the object at addr (0: nothing): a string, or bytes. Of what is neither, only the header
 * counts. Returns 0, or -1 if it is not present.
 */
static __always_inline int contents_take(struct code_contents *c, const struct py_offsets *off,
					 __u64 addr, bool is_string)
{
	__u32 header = is_string ? off->unicode.ascii_size : off->bytes.ob_sval;
	__u32 length_at = is_string ? off->unicode.length : off->bytes.ob_size;
	__u32 have = CODE_CONTENTS_HEAD, kind = 1, state = 0, size;
	__u64 length;

	if (!addr)
		return 0;
	if (header > CODE_CONTENTS_HEAD - 24)
		return -1;
	if (read_from(c, c->data, CODE_CONTENTS_HEAD, addr)) {
		have = masked(header, CODE_CONTENTS_HEAD - 1);
		if (read_from(c, c->data, have, addr))
			return -1;
	}
	length = window_u64(c->data, length_at, CODE_CONTENTS_HEAD - 1);
	if (is_string) {
		/* kind, compact, ascii */
		state = window_u32(c->data, off->unicode.state, CODE_CONTENTS_HEAD - 1) >>
				PYOFF_STRING_STATE_SHIFT(off) &
			31;
		kind = state & 8 ? state & 7 : 0;
		if (!(state & 16))
			header = at_most(off->unicode.compact_size, CODE_CONTENTS_HEAD - 24);
	}
	c->hash = fingerprint_mix(c->hash, length << 5 | state);
	size = length <= CODE_LENGTH_MAX ? (__u32)length * kind : 0;
	size = at_most(size, CODE_CONTENTS_MAX);
	if (header + size > have) {
		if (read_from(c, c->data, size, addr + header))
			return -1;
		header = 0;
	}
	contents_add(c, header, size);
	return 0;
}

/*
 * The fingerprint of the code object in the window; c->hash is its key. 0: the contents are not
 * present.
 */
static __always_inline __u32 contents_fingerprint(struct code_contents *c,
						  const struct py_offsets *off, const __u8 *window)
{
	if (contents_take(c, off, code_name_addr(window, off), true) ||
	    contents_take(c, off, CODE_FIELD(window, off, filename), true) ||
	    contents_take(c, off, CODE_FIELD(window, off, linetable), false))
		return 0;
	return (__u32)(fingerprint_mix(c->hash, 0) >> 32) | 1;
}

#ifndef __bpf__
/* window: the first PYOFF_CODE_WINDOW() bytes of the code object. 0: it cannot be read. */
static inline __u32 code_fingerprint(const struct memory *m, const struct py_offsets *off,
				     const __u8 *window)
{
	struct code_contents c;

	c.memory = m;
	c.hash = code_key(window, off);

	return contents_fingerprint(&c, off, window);
}
#endif

#endif /* KRAIT_BPF_PYTHON_FINGERPRINT_H */
