/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/cpp_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Three bytes; never longer than what it replaces. */
#define ELLIPSIS "…"

#define OPERATOR "operator"

/* Removes everything from one position up to the other. */
static void cut(char *from, const char *to)
{
	memmove(from, to, strlen(to) + 1);
}

/* Replaces each occurrence of the longer text by the shorter one. */
static void replace(char *name, const char *longer, const char *shorter)
{
	size_t gone = strlen(longer), kept = strlen(shorter);

	for (char *at = strstr(name, longer); at; at = strstr(at + kept, longer)) {
		memcpy(at, shorter, kept);
		cut(at + kept, at + gone);
	}
}

/* "[abi:cxx11]", " [clone .cold]" */
static void cut_brackets(char *name, const char *begin)
{
	for (char *at = strstr(name, begin); at; at = strstr(at, begin)) {
		const char *end = strchr(at, ']');

		if (!end)
			return;
		cut(at, end + 1);
	}
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/*
 * If the word "operator" begins here, skips it and its symbol, which is not a bracket. Otherwise
 * returns the same position.
 */
static char *skip_operator(char *name, char *at)
{
	if (strncmp(at, OPERATOR, strlen(OPERATOR)) || (at > name && is_word(at[-1])) ||
	    is_word(at[strlen(OPERATOR)]))
		return at;
	at += strlen(OPERATOR);
	if (!strncmp(at, "()", 2))
		return at + 2;
	if (*at == ' ') /* "operator new", "operator unsigned int" */
		return at + strcspn(at, "(<");
	return at + strspn(at, "<>=-+*/%&|^!~,[]");
}

/* The position of the matching closing bracket; NULL: none. */
static char *closing(char *at)
{
	int depth = 0;

	for (char *begin = at; *at; at++) {
		char *behind = skip_operator(begin, at);

		if (behind > at) {
			at = behind - 1;
			continue;
		}
		if (strchr("(<{[", *at))
			depth++;
		else if (*at == '>' && at[-1] == '-')
			continue;
		else if (strchr(")>}]", *at) && !--depth)
			return at;
	}
	return NULL;
}

/*
 * Removes the parameters, and those of an enclosing function. *ret_name: where the name begins,
 * after the return type. False: not the usual form of a name.
 */
static bool cut_parameters(char *name, char **ret_name)
{
	char *at = name, *begin = name;

	while (*at) {
		char *end = NULL;

		if (skip_operator(name, at) > at) {
			at = skip_operator(name, at);
			continue;
		}
		if (strchr("(<{[", *at)) {
			end = closing(at);
			if (!end)
				return false;
		}
		if (*at == '(' && strncmp(at, "(anonymous namespace)", 21) &&
		    strncmp(begin, "decltype", 8)) {
			if (at == begin) /* returns a pointer to a function */
				return false;
			end++;
			end += strncmp(end, " const", 6) ? 0 : 6;
			if (strncmp(end, "::", 2)) {
				*at = '\0';
				break;
			}
			cut(at, end);
		} else if (end) {
			at = end + 1;
		} else {
			if (*at == ' ')
				begin = at + 1;
			at++;
		}
	}
	*ret_name = begin;
	return *begin != '\0';
}

/* "f<…>::g<…>": replaces what is between the outermost brackets, if that makes the name shorter. */
static void cut_arguments(char *name)
{
	for (char *at = name; *at; at++) {
		char *behind = skip_operator(name, at), *end;

		if (behind > at) {
			at = behind - 1;
			continue;
		}
		if (*at != '<')
			continue;
		end = closing(at);
		if (!end)
			return;
		if ((size_t)(end - at) > strlen(ELLIPSIS)) {
			memcpy(at + 1, ELLIPSIS, strlen(ELLIPSIS));
			cut(at + 1 + strlen(ELLIPSIS), end);
			end = at + 1 + strlen(ELLIPSIS);
		}
		at = end;
	}
}

/* "vtable for X", "non-virtual thunk to X::f()": these words are not a type. */
static char *skip_special(char *name)
{
	static const char *const words[] = { " for ", " thunk to " };

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		char *at = strstr(name, words[i]);

		if (at && strcspn(name, "(<{") > (size_t)(at - name))
			return at + strlen(words[i]);
	}
	return name;
}

void cpp_name_shorten(char *name)
{
	char *special = skip_special(name), *begin;

	cut_brackets(name, "[abi:");
	cut_brackets(name, " [clone ");
	replace(name, "std::__cxx11::", "std::");
	replace(name, "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
		"std::string");
	replace(name, " >", ">");
	if (!cut_parameters(special, &begin))
		return;
	cut(special, begin);
	if (strlen(name) > CPP_NAME_LONG)
		cut_arguments(name);
}
