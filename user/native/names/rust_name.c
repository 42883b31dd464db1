/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/rust_name.h"

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A longer name is cut there. */
#define OUT_MAX 2048U
/* A name that needs more steps was made to take time: a part may refer to others again and again. */
#define STEPS_MAX 4096U
#define DEPTH_MAX 64U

struct reader {
	const char *begin; /* after "_R" */
	const char *at;
	char out[OUT_MAX];
	size_t len;
	unsigned steps, depth;
	unsigned quiet; /* > 0: parse without writing */
	bool bad, full;
	bool brief; /* without the arguments of functions */
};

static void path(struct reader *r, bool in_type);
static void type(struct reader *r);

/* ---- what is written -------------------------------------------------------------------------- */

static void put_bytes(struct reader *r, const char *text, size_t len)
{
	if (r->quiet || r->full)
		return;
	if (len >= sizeof(r->out) - r->len) {
		r->full = true;
		return;
	}
	memcpy(r->out + r->len, text, len);
	r->len += len;
}

static void put(struct reader *r, const char *text)
{
	put_bytes(r, text, strlen(text));
}

/* ---- numbers and names ------------------------------------------------------------------------ */

static bool take(struct reader *r, char c)
{
	if (*r->at != c)
		return false;
	r->at++;
	return true;
}

/* "_" is 0, "0_" 1, ... */
static __u64 base_62(struct reader *r)
{
	__u64 value = 0;

	if (take(r, '_'))
		return 0;
	while (!r->bad && !take(r, '_')) {
		char c = *r->at++;
		unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') :
				 c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10 :
				 c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 36 :
							62;

		r->bad = digit == 62 || value > (UINT64_MAX - 62) / 62 - 1;
		if (r->bad)
			r->at--;
		value = value * 62 + digit;
	}
	return value + 1;
}

/* The disambiguator: how many of the same name come before; 0 if absent. */
static __u64 disambiguator(struct reader *r)
{
	return take(r, 's') ? base_62(r) + 1 : 0;
}

/* The text of a name, *ret bytes; names in other scripts stay encoded. */
static const char *name(struct reader *r, size_t *ret)
{
	const char *text;
	size_t len = 0;

	take(r, 'u');
	if (*r->at < '0' || *r->at > '9')
		r->bad = true;
	/* Only 0 itself begins with 0: "00" is two numbers. */
	if (!take(r, '0')) {
		while (*r->at >= '0' && *r->at <= '9' && len < OUT_MAX)
			len = len * 10 + (size_t)(*r->at++ - '0');
	}
	take(r, '_');
	text = r->at;
	if (strnlen(text, len) < len)
		r->bad = true;
	*ret = r->bad ? 0 : len;
	r->at += *ret;
	return text;
}

/* "for<'a>": lifetimes are not written. */
static void binder(struct reader *r)
{
	if (take(r, 'G'))
		(void)base_62(r);
}

/* ---- parts ------------------------------------------------------------------------------------ */

/* False: too much, or malformed. */
static bool enter(struct reader *r)
{
	if (++r->steps > STEPS_MAX || ++r->depth > DEPTH_MAX || r->full)
		r->bad = r->bad || !r->full;
	return !r->bad && !r->full;
}

/* Parses an earlier part once more. */
static void again(struct reader *r, void (*part)(struct reader *r))
{
	const char *from = r->at - 1, *next;
	__u64 place = base_62(r);

	next = r->at;
	if (r->bad || place >= (__u64)(from - r->begin)) {
		r->bad = true;
		return;
	}
	r->at = r->begin + place;
	part(r);
	r->at = next;
}

static void path_of_value(struct reader *r)
{
	path(r, false);
}

static void path_of_type(struct reader *r)
{
	path(r, true);
}

/* A boolean, or a number; characters count as numbers. */
static void constant(struct reader *r)
{
	const char *digits;
	char text[32], kind;

	if (take(r, 'B')) {
		if (enter(r))
			again(r, constant);
		r->depth--;
		return;
	}
	if (take(r, 'p')) {
		put(r, "_");
		return;
	}
	if (*r->at < 'a' || *r->at > 'z') {
		r->bad = true;
		return;
	}
	kind = *r->at++;
	if (take(r, 'n'))
		put(r, "-");
	digits = r->at;
	r->at += strspn(r->at, "0123456789abcdef");
	if (!take(r, '_')) {
		r->bad = true;
		return;
	}
	if (r->at - digits > 17) {
		put(r, "0x");
		put_bytes(r, digits, (size_t)(r->at - digits) - 1);
		return;
	}
	snprintf(text, sizeof(text), "%llu", strtoull(digits, NULL, 16));
	put(r, kind != 'b' ? text : *text == '0' ? "false" : "true");
}

/* "<T, 3>"; nothing if it contains only lifetimes. */
static void arguments(struct reader *r, const char *open)
{
	bool any = false;

	while (!r->bad && !r->full && !take(r, 'E')) {
		if (take(r, 'L')) {
			(void)base_62(r);
			continue;
		}
		put(r, any ? ", " : open);
		any = true;
		if (take(r, 'K'))
			constant(r);
		else
			type(r);
	}
	if (any)
		put(r, ">");
}

/* Where an impl is: its type says so already. */
static void skip_impl(struct reader *r)
{
	(void)disambiguator(r);
	r->quiet++;
	path(r, false);
	r->quiet--;
}

static void type_as_trait(struct reader *r)
{
	put(r, "<");
	type(r);
	put(r, " as ");
	path(r, true);
	put(r, ">");
}

static void nested(struct reader *r, bool in_type)
{
	char space = *r->at, text[32];
	const char *own;
	__u64 number;
	size_t len;

	r->bad = r->bad || !space;
	if (r->bad)
		return;
	r->at++;
	path(r, in_type);
	number = disambiguator(r);
	own = name(r, &len);
	if (space >= 'A' && space <= 'Z') {
		put(r, space == 'C' ? "::{closure" : space == 'S' ? "::{shim" : "::{");
		if (len)
			put(r, ":");
		put_bytes(r, own, len);
		snprintf(text, sizeof(text), "#%llu}", number);
		put(r, text);
	} else if (len) {
		put(r, "::");
		put_bytes(r, own, len);
	}
}

static void path(struct reader *r, bool in_type)
{
	const char *text;
	size_t len;

	if (!enter(r)) {
		r->depth -= r->depth > 0;
		return;
	}
	switch (*r->at++) {
	case 'C':
		(void)disambiguator(r);
		text = name(r, &len);
		put_bytes(r, text, len);
		break;
	case 'M':
		skip_impl(r);
		put(r, "<");
		type(r);
		put(r, ">");
		break;
	case 'X':
		skip_impl(r);
		type_as_trait(r);
		break;
	case 'Y':
		type_as_trait(r);
		break;
	case 'N':
		nested(r, in_type);
		break;
	case 'I':
		path(r, in_type);
		if (!in_type && r->brief)
			put(r, "::<…>");
		r->quiet += !in_type && r->brief;
		arguments(r, in_type ? "<" : "::<");
		r->quiet -= !in_type && r->brief;
		break;
	case 'B':
		again(r, in_type ? path_of_type : path_of_value);
		break;
	default:
		r->at--;
		r->bad = true;
	}
	r->depth--;
}

/* ---- types ------------------------------------------------------------------------------------ */

static const char *basic(char c)
{
	static const char *const names[26] = {
		"i8",	 "bool", "char", "f64", "str",	"f32",	NULL,  "u8", "isize",
		"usize", NULL,	 "i32",	 "u32", "i128", "u128", "_",   NULL, NULL,
		"i16",	 "u16",	 "()",	 "...", NULL,	"i64",	"u64", "!",
	};

	return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

static void types_up_to_end(struct reader *r)
{
	for (bool first = true; !r->bad && !r->full && !take(r, 'E'); first = false) {
		if (!first)
			put(r, ", ");
		type(r);
	}
}

static void function(struct reader *r)
{
	size_t len;

	binder(r);
	take(r, 'U');
	if (take(r, 'K') && !take(r, 'C'))
		(void)name(r, &len);
	put(r, "fn(");
	types_up_to_end(r);
	put(r, ")");
	if (take(r, 'u'))
		return;
	put(r, " -> ");
	type(r);
}

static void traits(struct reader *r)
{
	size_t len;

	put(r, "dyn ");
	binder(r);
	for (bool first = true; !r->bad && !r->full && !take(r, 'E'); first = false) {
		if (!first)
			put(r, " + ");
		path(r, true);
		/* "Iterator<Item = u8>": associated types rarely distinguish functions. */
		while (!r->bad && !r->full && take(r, 'p')) {
			(void)name(r, &len);
			r->quiet++;
			type(r);
			r->quiet--;
		}
	}
	if (!r->full && !take(r, 'L'))
		r->bad = true;
	(void)base_62(r);
}

static void to(struct reader *r, const char *text)
{
	if (*text == '&' && take(r, 'L'))
		(void)base_62(r);
	put(r, text);
	type(r);
}

static void array(struct reader *r, bool has_size)
{
	put(r, "[");
	type(r);
	if (has_size) {
		put(r, "; ");
		constant(r);
	}
	put(r, "]");
}

static void tuple(struct reader *r)
{
	put(r, "(");
	types_up_to_end(r);
	put(r, ")");
}

static void type(struct reader *r)
{
	const char *plain = basic(*r->at);

	if (!enter(r)) {
		r->depth -= r->depth > 0;
		return;
	}
	if (plain) {
		r->at++;
		put(r, plain);
	} else if (take(r, 'A')) {
		array(r, true);
	} else if (take(r, 'S')) {
		array(r, false);
	} else if (take(r, 'T')) {
		tuple(r);
	} else if (take(r, 'R')) {
		to(r, "&");
	} else if (take(r, 'Q')) {
		to(r, "&mut ");
	} else if (take(r, 'P')) {
		to(r, "*const ");
	} else if (take(r, 'O')) {
		to(r, "*mut ");
	} else if (take(r, 'F')) {
		function(r);
	} else if (take(r, 'D')) {
		traits(r);
	} else if (take(r, 'B')) {
		again(r, type);
	} else {
		path(r, true);
	}
	r->depth--;
}

/* What follows is the crate in which it was instantiated, and what LLVM has appended. */
static void read_symbol(struct reader *r, const char *symbol, bool brief)
{
	*r = (struct reader){ .begin = symbol + 2, .at = symbol + 2, .brief = brief };
	path(r, false);
}

char *rust_name(const char *symbol)
{
	struct reader r;

	if (strncmp(symbol, "_R", 2) || symbol[2] < 'A' || symbol[2] > 'Z')
		return NULL;
	read_symbol(&r, symbol, false);
	if (!r.bad && r.len > RUST_NAME_LONG)
		read_symbol(&r, symbol, true);
	return r.bad || !r.len ? NULL : strndup(r.out, r.len);
}
