/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/rows/code_state.h"

#ifdef __x86_64__
#include <string.h>

/* The three opcode maps; others are MAP_OTHER. */
enum map { MAP_1, MAP_0F, MAP_0F38, MAP_0F3A, MAP_OTHER };

struct reader {
	const __u8 *code;
	__u64 left;
	unsigned pos;
	bool bad;
	/* prefixes */
	bool size16, wide, addr32, rep, vector;
	__u8 rex;
	enum map map;
	__u8 op, modrm, sib;
	bool has_modrm;
	__s64 disp, imm;
};

static __u8 byte(struct reader *r)
{
	if (r->pos >= r->left || r->pos >= X86_INSN_MAX) {
		r->bad = true;
		return 0;
	}
	return r->code[r->pos++];
}

/* A signed number of 1, 2, 4 or 8 bytes, or 0 if size is 0. */
static __s64 number(struct reader *r, unsigned size)
{
	__u64 value = 0;

	for (unsigned i = 0; i < size; i++)
		value |= (__u64)byte(r) << 8 * i;
	if (size && size < 8 && value >> (8 * size - 1))
		value |= ~0ULL << 8 * size;
	return (__s64)value;
}

/* ---- what it is written with ------------------------------------------------------------------ */

static void read_prefixes(struct reader *r)
{
	__u8 b;

	for (;;) {
		b = byte(r);
		if (b == 0x66)
			r->size16 = true;
		else if (b == 0x67)
			r->addr32 = true;
		else if (b == 0xf2 || b == 0xf3)
			r->rep = true;
		else if (b != 0xf0 && b != 0x2e && b != 0x36 && b != 0x3e && b != 0x26 &&
			 b != 0x64 && b != 0x65)
			break;
	}
	if ((b & 0xf0) == 0x40) {
		r->rex = b;
		r->wide = b & 8;
		b = byte(r);
	}
	r->op = b;
}

/* VEX and EVEX: the upper bits of registers are inverted; only R and B matter here. */
static void read_vector(struct reader *r)
{
	__u8 first = byte(r), maps = 1;

	r->vector = true;
	r->rex = 0x40 | (first & 0x80 ? 0 : 4);
	if (r->op == 0xc4) {
		r->rex |= first & 0x20 ? 0 : 1;
		maps = first & 0x1f;
		r->wide = byte(r) & 0x80;
	} else if (r->op == 0x62) {
		r->rex |= first & 0x20 ? 0 : 1;
		maps = first & 7;
		byte(r);
		byte(r);
	}
	r->map = maps == 1 ? MAP_0F : maps == 2 ? MAP_0F38 : maps == 3 ? MAP_0F3A : MAP_OTHER;
	r->op = byte(r);
}

static void read_op(struct reader *r)
{
	if (r->op == 0xc4 || r->op == 0xc5 || r->op == 0x62) {
		read_vector(r);
	} else if (r->op == 0x0f) {
		r->map = MAP_0F;
		r->op = byte(r);
		if (r->op == 0x38 || r->op == 0x3a) {
			r->map = r->op == 0x38 ? MAP_0F38 : MAP_0F3A;
			r->op = byte(r);
		}
	}
}

static bool is_between(__u8 op, __u8 first, __u8 last)
{
	return op >= first && op <= last;
}

static bool one_byte_modrm(__u8 op)
{
	if (op < 0x40)
		return (op & 7) < 4;
	return op == 0x63 || op == 0x69 || op == 0x6b || is_between(op, 0x80, 0x8f) || op == 0xc0 ||
	       op == 0xc1 || op == 0xc6 || op == 0xc7 || is_between(op, 0xd0, 0xd3) ||
	       is_between(op, 0xd8, 0xdf) || op == 0xf6 || op == 0xf7 || op >= 0xfe;
}

static bool two_byte_modrm(__u8 op)
{
	return !(is_between(op, 0x05, 0x0b) || op == 0x77 || is_between(op, 0x30, 0x37) ||
		 is_between(op, 0x80, 0x8f) || is_between(op, 0xa0, 0xa2) ||
		 is_between(op, 0xa8, 0xaa) || is_between(op, 0xc8, 0xcf));
}

static bool has_modrm(const struct reader *r)
{
	if (r->map == MAP_1)
		return one_byte_modrm(r->op);
	if (r->map == MAP_0F)
		return r->vector ? r->op != 0x77 : two_byte_modrm(r->op);
	return true;
}

/* Invalid in 64-bit mode, or impossible in code that anybody calls. */
static bool is_invalid(const struct reader *r)
{
	static const __u8 ops[] = { 0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27,
				    0x2f, 0x37, 0x3f, 0x60, 0x61, 0x82, 0x9a, 0xce,
				    0xd4, 0xd5, 0xd6, 0xea, 0xc8, 0xca, 0xcb, 0xcf };

	if (r->map == MAP_1)
		return memchr(ops, r->op, sizeof(ops));
	return r->map == MAP_OTHER || (r->map == MAP_0F && !r->vector &&
				       (r->op == 0x04 || r->op == 0x0a || r->op == 0x0c ||
					r->op == 0x0f || r->op == 0x07 || r->op == 0x35));
}

static void read_modrm(struct reader *r)
{
	unsigned mod, rm;

	r->has_modrm = true;
	r->modrm = byte(r);
	mod = r->modrm >> 6;
	rm = r->modrm & 7;
	if (mod == 3)
		return;
	if (rm == 4)
		r->sib = byte(r);
	if (mod == 1)
		r->disp = number(r, 1);
	else if (mod == 2 || (!mod && rm == 5) || (!mod && rm == 4 && (r->sib & 7) == 5))
		r->disp = number(r, 4);
}

static unsigned one_byte_imm(const struct reader *r)
{
	const unsigned word = r->size16 && !r->wide ? 2 : 4;
	const __u8 op = r->op;

	if (op < 0x40)
		return (op & 7) == 4 ? 1 : (op & 7) == 5 ? word : 0;
	if (op == 0x68 || op == 0x69 || op == 0x81 || op == 0xa9 || op == 0xc7)
		return word;
	if (op == 0x6a || op == 0x6b || op == 0x80 || op == 0x83 || op == 0xa8 ||
	    is_between(op, 0xb0, 0xb7) || op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xcd ||
	    is_between(op, 0xe4, 0xe7) || is_between(op, 0x70, 0x7f) ||
	    is_between(op, 0xe0, 0xe3) || op == 0xeb)
		return 1;
	if (is_between(op, 0xb8, 0xbf))
		return r->wide ? 8 : word;
	if (is_between(op, 0xa0, 0xa3))
		return r->addr32 ? 4 : 8;
	if (op == 0xe8 || op == 0xe9)
		return 4;
	if (op == 0xc2)
		return 2;
	if (op == 0xf6 && !(r->modrm >> 4 & 3))
		return 1;
	return op == 0xf7 && !(r->modrm >> 4 & 3) ? word : 0;
}

static unsigned imm_size(const struct reader *r)
{
	const __u8 op = r->op;

	if (r->map == MAP_1)
		return one_byte_imm(r);
	if (r->map == MAP_0F3A)
		return 1;
	if (r->map == MAP_0F38)
		return 0;
	if (!r->vector && is_between(op, 0x80, 0x8f))
		return 4;
	if (!r->vector && (op == 0xa4 || op == 0xac || op == 0xba))
		return 1;
	return is_between(op, 0x70, 0x73) || op == 0xc2 || is_between(op, 0xc4, 0xc6) ? 1 : 0;
}

/* ---- what it does ----------------------------------------------------------------------------- */

/* Does REX.B select one of r8 to r15? */
static __u8 reg_of_rm(const struct reader *r)
{
	return (r->modrm & 7) | (r->rex & 1) << 3;
}

static __u8 reg_of_reg(const struct reader *r)
{
	return (r->modrm >> 3 & 7) | (r->rex & 4) << 1;
}

static bool is_reg(const struct reader *r)
{
	return r->modrm >> 6 == 3;
}

/* [rsp + disp], without an index. */
static bool is_stack(const struct reader *r)
{
	return r->modrm >> 6 != 3 && (r->modrm & 7) == 4 && r->sib == 0x24 && !(r->rex & 3) &&
	       !r->addr32;
}

/* Instructions with a general register or memory as destination. */
static bool writes_rm(const struct reader *r)
{
	const __u8 op = r->op, group = r->modrm >> 3 & 7;

	if (op < 0x40)
		return (op & 7) < 2 && op < 0x38;
	if (is_between(op, 0x80, 0x83))
		return group != 7;
	if (op == 0xf6 || op == 0xf7)
		return group == 2 || group == 3;
	if (op == 0xfe || op == 0xff)
		return group < 2;
	return is_between(op, 0x86, 0x89) || op == 0x8c || op == 0x8f || op == 0xc0 || op == 0xc1 ||
	       op == 0xc6 || op == 0xc7 || is_between(op, 0xd0, 0xd3);
}

static bool writes_reg(const struct reader *r)
{
	const __u8 op = r->op;

	if (op < 0x40)
		return (op & 7) == 2 || ((op & 7) == 3 && op < 0x38);
	return op == 0x63 || op == 0x69 || op == 0x6b || op == 0x86 || op == 0x87 || op == 0x8a ||
	       op == 0x8b || op == 0x8d;
}

/*
 * Instructions of the second map whose destination is a general register; listing too many does no
 * harm.
 */
static bool writes_reg_0f(const struct reader *r)
{
	const __u8 op = r->op;

	/* Of masks, which AVX-512 keeps in registers of their own, only kmov (93) writes to one. */
	if (r->vector)
		return op == 0x2c || op == 0x2d || op == 0x50 || op == 0x78 || op == 0x79 ||
		       op == 0x93 || op == 0xc5 || op == 0xd7;
	return is_between(op, 0x40, 0x4f) || op == 0x2c || op == 0x2d || op == 0x50 || op == 0xd7 ||
	       op == 0xc5 || op == 0xaf || op == 0xb6 || op == 0xb7 || is_between(op, 0xb8, 0xbf) ||
	       op == 0xc0 || op == 0xc1 || op == 0x02 || op == 0x03;
}

static bool writes_rm_0f(const struct reader *r)
{
	const __u8 op = r->op;

	if (r->vector)
		return op == 0x7e;
	return is_between(op, 0x90, 0x9f) || op == 0xa4 || op == 0xa5 || op == 0xac || op == 0xad ||
	       op == 0xab || op == 0xb3 || op == 0xba || op == 0xbb || op == 0xb0 || op == 0xb1 ||
	       op == 0xc0 || op == 0xc1 || op == 0xc7 || op == 0x7e || is_between(op, 0xc8, 0xcf);
}

static void note_written(const struct reader *r, struct code_insn *ret)
{
	bool reg = false, rm = false;

	if (r->map == MAP_1) {
		reg = writes_reg(r);
		rm = writes_rm(r);
	} else if (r->map == MAP_0F) {
		reg = writes_reg_0f(r);
		rm = writes_rm_0f(r);
	} else if (r->map == MAP_0F38) {
		/* BMI, crc32, movbe. */
		reg = r->op >= 0xf0;
	} else {
		/* rorx; pextr and the like. */
		reg = r->op == 0xf0;
		rm = is_between(r->op, 0x14, 0x17);
	}
	if (r->has_modrm && reg)
		ret->written = reg_of_reg(r);
	if (r->has_modrm && rm && is_reg(r))
		ret->written_too = reg_of_rm(r);
	if (r->map == MAP_1 && (is_between(r->op, 0xb0, 0xbf) || is_between(r->op, 0x90, 0x97)))
		ret->written = (r->op & 7) | (r->rex & 1) << 3;
	if (r->map == MAP_0F && !r->vector && is_between(r->op, 0xc8, 0xcf))
		ret->written = (r->op & 7) | (r->rex & 1) << 3;
	if (r->map == MAP_0F && !r->vector && r->op == 0xa2)
		ret->written = X86_RBX; /* cpuid */
}

/* add, or, and, sub of rsp with an immediate. */
static void arithmetic_of_sp(const struct reader *r, struct code_insn *ret)
{
	const __u8 group = r->modrm >> 3 & 7;

	ret->kind = CODE_BAD;
	if (!r->wide || (r->op != 0x81 && r->op != 0x83))
		return;
	if (!group || group == 5) {
		ret->kind = X86_ADD_SP;
		ret->value = group ? -r->imm : r->imm;
	} else if (group == 4) {
		ret->kind = X86_ALIGN_SP;
	} else if (group == 7) {
		ret->kind = X86_OTHER; /* cmp */
	}
}

static bool may_be_copy(__u8 reg)
{
	return reg == X86_RBP || reg == X86_RBX;
}

/* rsp has another value afterwards. */
static void change_of_sp(const struct reader *r, struct code_insn *ret)
{
	ret->kind = CODE_BAD;
	if (r->map != MAP_1 || !r->wide)
		return;
	if (r->op >= 0x80 && r->op <= 0x83) {
		arithmetic_of_sp(r, ret);
	} else if (r->op == 0x8d && is_stack(r)) {
		ret->kind = X86_ADD_SP;
		ret->value = r->disp;
	} else if (r->op == 0x8d && is_between(r->modrm >> 6, 1, 2) && may_be_copy(reg_of_rm(r))) {
		ret->kind = X86_SET_SP;
		ret->reg = reg_of_rm(r);
		ret->value = r->disp;
	} else if ((r->op == 0x89 || r->op == 0x8b) && is_reg(r) &&
		   may_be_copy(r->op == 0x89 ? reg_of_reg(r) : reg_of_rm(r))) {
		ret->kind = X86_SET_SP;
		ret->reg = r->op == 0x89 ? reg_of_reg(r) : reg_of_rm(r);
	}
}

static void moves(const struct reader *r, struct code_insn *ret)
{
	if (!r->wide)
		return;
	if ((r->op == 0x89 || r->op == 0x8b) && is_reg(r)) {
		__u8 from = r->op == 0x89 ? reg_of_reg(r) : reg_of_rm(r);
		__u8 to = r->op == 0x89 ? reg_of_rm(r) : reg_of_reg(r);

		if (from != X86_RSP || !may_be_copy(to))
			return;
		ret->kind = X86_COPY_SP;
		ret->reg = to;
	} else if ((r->op == 0x89 || r->op == 0x8b) && is_stack(r)) {
		ret->kind = r->op == 0x89 ? X86_STORE : X86_LOAD;
		ret->reg = reg_of_reg(r);
		ret->value = r->disp;
	}
}

static void one_byte_kind(const struct reader *r, struct code_insn *ret)
{
	const __u8 op = r->op, group = r->modrm >> 3 & 7;

	ret->value = r->imm;
	if (is_between(op, 0x50, 0x5f)) {
		ret->kind = r->size16 ? CODE_BAD : op < 0x58 ? X86_PUSH : X86_POP;
		ret->reg = (op & 7) | (r->rex & 1) << 3;
	} else if (op == 0x68 || op == 0x6a || op == 0x9c || (op == 0xff && group == 6)) {
		ret->kind = r->size16 ? CODE_BAD : X86_PUSH;
	} else if (op == 0x9d || op == 0x8f) {
		ret->kind = r->size16 || (op == 0x8f && group) ? CODE_BAD : X86_POP;
		ret->reg = op == 0x8f && is_reg(r) ? reg_of_rm(r) : X86_NO_REG;
	} else if (is_between(op, 0x70, 0x7f) || is_between(op, 0xe0, 0xe3)) {
		ret->kind = CODE_JCC;
	} else if (op == 0xeb || op == 0xe9) {
		ret->kind = CODE_JMP;
	} else if (op == 0xe8 || (op == 0xff && group == 2)) {
		/* A call of the next instruction is not a real call. */
		ret->kind = op == 0xe8 && !r->imm ? CODE_BAD : CODE_CALL;
	} else if (op == 0xff && group == 4) {
		ret->kind = (r->modrm & 0xc7) == 5 ? CODE_JMP_BY_GOT : CODE_JMP_BY_REG;
	} else if (op == 0xff && (group == 3 || group == 5 || group == 7)) {
		ret->kind = CODE_BAD;
	} else if (op == 0xc3 || op == 0xc2) {
		ret->kind = op == 0xc3 ? CODE_RET : CODE_BAD;
	} else if (op == 0xc9) {
		ret->kind = X86_LEAVE;
	} else if (op == 0xcc || op == 0xf4) {
		ret->kind = CODE_TRAP;
	} else if (op == 0x90) {
		ret->kind = r->rex & 1 ? X86_OTHER : CODE_NOP;
	} else {
		moves(r, ret);
	}
}

static void find_kind(const struct reader *r, struct code_insn *ret)
{
	ret->kind = X86_OTHER;
	note_written(r, ret);
	if (r->map == MAP_1) {
		one_byte_kind(r, ret);
	} else if (r->map == MAP_0F && !r->vector) {
		ret->value = r->imm;
		if (is_between(r->op, 0x80, 0x8f))
			ret->kind = CODE_JCC;
		else if (r->op == 0x0b || r->op == 0xb9 || r->op == 0xff)
			ret->kind = CODE_TRAP;
		else if (r->op == 0x1f)
			ret->kind = CODE_NOP;
		else if ((r->op & 0xf7) == 0xa0)
			ret->kind = X86_PUSH; /* fs, gs */
		else if ((r->op & 0xf7) == 0xa1)
			ret->kind = X86_POP;
	}
	if (ret->kind == X86_OTHER && (ret->written == X86_RSP || ret->written_too == X86_RSP))
		change_of_sp(r, ret);
	else if (ret->kind == X86_LOAD && ret->reg == X86_RSP)
		ret->kind = CODE_BAD;
}

struct code_insn code_insn(const __u8 *code, __u64 left)
{
	struct code_insn ret = { .reg = X86_NO_REG,
				 .written = X86_NO_REG,
				 .written_too = X86_NO_REG };
	struct reader r = { .code = code, .left = left };

	read_prefixes(&r);
	read_op(&r);
	if (r.bad || is_invalid(&r))
		return ret;
	if (has_modrm(&r))
		read_modrm(&r);
	r.imm = number(&r, imm_size(&r));
	if (r.bad)
		return ret;
	find_kind(&r, &ret);
	ret.len = (__u8)r.pos;
	return ret;
}
#endif
