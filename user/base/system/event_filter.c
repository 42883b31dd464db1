/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/system/event_filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Comparisons, and what joins them. */
#define NODES_MAX (3 * FILTER_TESTS_MAX)
#define DEPTH_MAX 16
#define NAME_MAX_LEN 64

enum node_kind { NODE_TEST, NODE_AND, NODE_OR, NODE_NOT };

struct node {
	enum node_kind kind;
	int left, right;
	struct filter_test test;
};

struct parse {
	const char *at, *format;
	char *why;
	size_t why_size;
	int err, depth, cnt;
	struct node nodes[NODES_MAX];
};

__attribute__((format(printf, 3, 4))) static int refuse(struct parse *p, int err, const char *fmt,
							...)
{
	va_list ap;

	if (!p->err) {
		va_start(ap, fmt);
		vsnprintf(p->why, p->why_size, fmt, ap);
		va_end(ap);
		p->err = err;
	}
	return -1;
}

static void skip_blanks(struct parse *p)
{
	p->at += strspn(p->at, " \t\n");
}

static bool take(struct parse *p, const char *word)
{
	skip_blanks(p);
	if (strncmp(p->at, word, strlen(word)))
		return false;
	p->at += strlen(word);
	return true;
}

static int add(struct parse *p, const struct node *n)
{
	if (p->cnt == NODES_MAX)
		return refuse(p, -E2BIG, "a filter has at most %d comparisons", FILTER_TESTS_MAX);
	p->nodes[p->cnt] = *n;
	return p->cnt++;
}

/* ---- fields ----------------------------------------------------------------------------------- */

/* Bytes without a sign are no text: an address of a network, a key. */
static bool is_text(const char *type)
{
	return !strncmp(type, "char ", 5) || !strncmp(type, "const char ", 11);
}

/* "\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;" */
static bool find_field(const char *format, const char *name, struct filter_test *t,
		       bool *ret_is_odd)
{
	const size_t len = strlen(name);

	for (const char *line = format; line && *line;
	     line = strchr(line, '\n'), line += line != NULL) {
		const char *type = line + strspn(line, " \t"), *end, *word, *rest;
		unsigned offset, size;
		int is_signed;

		if (strncmp(type, "field:", 6) || !(end = strchr(type, ';')))
			continue;
		type += 6;
		rest = end + strcspn(end, "o\n");
		for (word = end;
		     word > type && (isalnum((unsigned char)word[-1]) || strchr("_[]", word[-1]));
		     word--)
			;
		if (strncmp(word, name, len) || (word[len] != ';' && word[len] != '['))
			continue;
		if (sscanf(rest, "offset:%u; size:%u; signed:%d;", &offset, &size, &is_signed) !=
			    3 ||
		    offset > 0xffff)
			return false;
		*t = (struct filter_test){ .offset = (__u16)offset, .is_signed = is_signed != 0 };
		/* Other types whose place the record says have that place as their 4 bytes. */
		if (!strncmp(type, "__data_loc char[]", 17))
			t->field = FILTER_TEXT_AT;
		else if (word[len] == '[' && is_text(type))
			t->field = FILTER_TEXT;
		else if (word[len] != '[' && strncmp(type, "__data_loc", 10) &&
			 strncmp(type, "__rel_loc", 9) &&
			 (size == 1 || size == 2 || size == 4 || size == 8))
			t->size = (__u8)size;
		*ret_is_odd = !t->size && t->field == FILTER_NUMBER;
		return true;
	}
	return false;
}

/* Appends the names of the fields. */
static void list_fields(struct parse *p)
{
	const char *between = "; its fields: ", *line = p->format;

	while ((line = strstr(line, "field:"))) {
		const char *end = strchr(line, ';'), *word = end;
		size_t len = strlen(p->why);

		while (word && word > line &&
		       (isalnum((unsigned char)word[-1]) || strchr("_[]", word[-1])))
			word--;
		line += 6;
		if (!word || !strncmp(word, "common_", 7) || !strncmp(word, "__", 2))
			continue;
		snprintf(p->why + len, p->why_size - len, "%s%.*s", between,
			 (int)strcspn(word, ";["), word);
		between = ", ";
	}
}

static int take_field(struct parse *p, char name[NAME_MAX_LEN], struct filter_test *t)
{
	static const struct {
		const char *name;
		enum filter_field field;
	} made[] = { { "common_pid", FILTER_THE_TID },
		     { "CPU", FILTER_THE_CPU },
		     { "cpu", FILTER_THE_CPU },
		     { "COMM", FILTER_THE_COMM },
		     { "comm", FILTER_THE_COMM } };
	size_t len = 0;
	bool is_odd = false;

	skip_blanks(p);
	while (isalnum((unsigned char)p->at[len]) || p->at[len] == '_')
		len++;
	if (!len || len >= NAME_MAX_LEN)
		return refuse(
			p, -EINVAL,
			"a filter compares fields, such as 'fd == 3 && count > 4096'; there is no field at \"%.32s\"",
			p->at);
	snprintf(name, NAME_MAX_LEN, "%.*s", (int)len, p->at);
	p->at += len;
	/* The kernel's program does not see what is common to all records. */
	if (strncmp(name, "common_", 7) && find_field(p->format, name, t, &is_odd)) {
		if (is_odd)
			return refuse(p, -EINVAL, "%s is neither a number nor a text", name);
		return 0;
	}
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		if (!strcmp(name, made[i].name)) {
			*t = (struct filter_test){ .field = made[i].field, .is_signed = true };
			return 0;
		}
	}
	refuse(p, -ENOENT, "it has no field \"%s\"", name);
	list_fields(p);
	return -1;
}

/* ---- comparisons ------------------------------------------------------------------------------ */

static int take_op(struct parse *p, char ret[3])
{
	static const char *const ops[] = { "==", "!=", "<=", ">=", "~", "<", ">", "&" };

	skip_blanks(p);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (!strncmp(p->at, ops[i], strlen(ops[i])) && strncmp(p->at, "&&", 2)) {
			p->at += strlen(ops[i]);
			strcpy(ret, ops[i]);
			return 0;
		}
	}
	return refuse(p, -EINVAL,
		      "a filter compares with ==, !=, <, <=, >, >=, & or ~, not with \"%.32s\"",
		      p->at);
}

static int take_text(struct parse *p, struct filter_test *t, const char *op)
{
	const char quote = *p->at == '"' || *p->at == '\'' ? *p->at : 0,
		   *text = p->at + (quote != 0);
	size_t len = quote ? strcspn(text, quote == '"' ? "\"" : "'") : strcspn(text, " \t\n)&|");
	bool before = false, after = false;

	if (quote && text[len] != quote)
		return refuse(p, -EINVAL,
			      "a text in a filter ends with the quote that it begins with: %.32s",
			      p->at);
	if (!quote && !len)
		return refuse(p, -EINVAL, "a text to compare with is missing at \"%.32s\"", p->at);
	p->at = text + len + (quote != 0);
	if (!strcmp(op, "~")) {
		before = len && text[0] == '*';
		after = len > before && text[len - 1] == '*';
		text += before;
		len -= (size_t)before + after;
		if (memchr(text, '*', len) || memchr(text, '?', len) || memchr(text, '[', len))
			return refuse(
				p, -EINVAL,
				"a pattern in a filter has a * at its beginning, its end, or both: \"*.py\"");
	} else if (strcmp(op, "==") && strcmp(op, "!=")) {
		return refuse(p, -EINVAL, "texts are compared with ==, != and ~, not with %s", op);
	}
	if (len > FILTER_TEXT_MAX)
		return refuse(p, -E2BIG, "a text in a filter has at most %d bytes",
			      FILTER_TEXT_MAX);
	memcpy(t->text, text, len);
	t->len = (__u32)len;
	t->op = !strcmp(op, "!=") ? FILTER_IS_NOT :
		before && after	  ? FILTER_HAS :
		before		  ? FILTER_ENDS :
		after		  ? FILTER_BEGINS :
				    FILTER_IS;
	return 0;
}

/*
 * As wide as the field, and with its sign: -1 is 0xffffffff in 4 bytes without a sign, and 0xffffffea is -22 in 4 bytes with
 * one, as for the kernel's own filters.
 */
static int fit(struct parse *p, struct filter_test *t, bool is_negative, const char *name)
{
	const unsigned bits = 8U * t->size;

	if (!bits || bits == 64)
		return 0;
	if (is_negative ? (__s64)t->value < -(1LL << (bits - 1)) : t->value >> bits != 0)
		return refuse(p, -ERANGE,
			      "%s has %d bytes: the number that it is compared with does not fit",
			      name, t->size);
	t->value &= (1ULL << bits) - 1;
	if (t->is_signed && t->value >> (bits - 1))
		t->value |= ~0ULL << bits;
	return 0;
}

static int take_number(struct parse *p, struct filter_test *t, const char *op, const char *name)
{
	static const char *const ops[] = { "==", "!=", "<", "<=", ">", ">=", "&" };
	const bool is_negative = *p->at == '-';
	char *end;

	errno = 0;
	t->value = is_negative ? (__u64)strtoll(p->at, &end, 0) : strtoull(p->at, &end, 0);
	if (end == p->at || errno || !strcmp(op, "~"))
		return refuse(
			p, -EINVAL,
			"%s is a number in this tracepoint: it is compared with numbers, and not by ~",
			name);
	p->at = end;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (!strcmp(op, ops[i]))
			t->op = (__u8)i;
	return fit(p, t, is_negative, name);
}

static int take_test(struct parse *p)
{
	struct node n = { .kind = NODE_TEST };
	char name[NAME_MAX_LEN], op[3];
	int err = take_field(p, name, &n.test);

	if (!err)
		err = take_op(p, op);
	if (err)
		return -1;
	skip_blanks(p);
	if (n.test.field == FILTER_TEXT || n.test.field == FILTER_TEXT_AT ||
	    n.test.field == FILTER_THE_COMM)
		err = take_text(p, &n.test, op);
	else
		err = take_number(p, &n.test, op, name);
	return err ? -1 : add(p, &n);
}

/* ---- what joins them -------------------------------------------------------------------------- */

static int take_or(struct parse *p);

static int take_one(struct parse *p)
{
	struct node n = { .kind = NODE_NOT };
	int result;

	if (++p->depth > DEPTH_MAX)
		return refuse(p, -E2BIG, "a filter has at most %d levels", DEPTH_MAX);
	if (take(p, "!")) {
		n.left = take_one(p);
		result = n.left < 0 ? -1 : add(p, &n);
	} else if (take(p, "(")) {
		result = take_or(p);
		if (result >= 0 && !take(p, ")"))
			result = refuse(p, -EINVAL, "a parenthesis of the filter is not closed");
	} else {
		result = take_test(p);
	}
	p->depth--;
	return result;
}

static int take_joined(struct parse *p, enum node_kind kind, const char *word,
		       int (*one)(struct parse *p))
{
	int result = one(p);

	while (result >= 0 && take(p, word)) {
		struct node n = { .kind = kind, .left = result, .right = one(p) };

		result = n.right < 0 ? -1 : add(p, &n);
	}
	return result;
}

static int take_and(struct parse *p)
{
	return take_joined(p, NODE_AND, "&&", take_one);
}

static int take_or(struct parse *p)
{
	return take_joined(p, NODE_OR, "||", take_and);
}

/* Puts the tests of a node before what follows them. Returns the first, or -1: there are too many. */
static int put(const struct parse *p, int node, int yes, int no, struct filter_program *ret,
	       unsigned *cnt)
{
	const struct node *n = &p->nodes[node];
	int right;

	switch (n->kind) {
	case NODE_NOT:
		return put(p, n->left, no, yes, ret, cnt);
	case NODE_AND:
		right = put(p, n->right, yes, no, ret, cnt);
		return right < 0 ? -1 : put(p, n->left, right, no, ret, cnt);
	case NODE_OR:
		right = put(p, n->right, yes, no, ret, cnt);
		return right < 0 ? -1 : put(p, n->left, yes, right, ret, cnt);
	case NODE_TEST:
		break;
	}
	if (*cnt == FILTER_TESTS_MAX)
		return -1;
	ret->tests[*cnt] = n->test;
	ret->tests[*cnt].yes = (__u8)yes;
	ret->tests[*cnt].no = (__u8)no;
	return (int)(*cnt)++;
}

int event_filter_parse(struct filter_program *ret, const char *text, const char *format, char *why,
		       size_t why_size)
{
	struct parse *p = calloc(1, sizeof(*p));
	unsigned cnt = 0;
	int root, begin, err;

	*why = '\0';
	*ret = (struct filter_program){ 0 };
	if (!p)
		return -ENOMEM;
	p->at = text;
	p->format = format;
	p->why = why;
	p->why_size = why_size;
	root = take_or(p);
	skip_blanks(p);
	if (root >= 0 && *p->at)
		root = refuse(p, -EINVAL, "the filter ends before \"%.32s\"", p->at);
	begin = root < 0 ? -1 : put(p, root, FILTER_TAKE, FILTER_SKIP, ret, &cnt);
	if (root >= 0 && begin < 0)
		refuse(p, -E2BIG, "a filter has at most %d comparisons", FILTER_TESTS_MAX);
	ret->begin = (__u32)begin;
	err = p->err;
	free(p);
	return err;
}
