/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/cython_name.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct prefix {
	const char *text;
	const char *method; /* what the symbol itself does not contain; "": nothing */
	bool wrapper;
};

/* If one prefix begins with another, the longer one comes first. */
static const struct prefix cython[] = {
	{ "__pyx_pw_", "", true },
	{ "__pyx_pf_", "", false },
	{ "__pyx_f_", "", false },
	{ "__pyx_gb_", "", false }, /* the body of a generator */
	{ "__pyx_getprop_", "", true },
	{ "__pyx_setprop_", "", true },
	{ "__pyx_tp_new_vectorcall_", "__new__", true },
	{ "__pyx_tp_new_", "__new__", false },
	{ "__pyx_tp_dealloc_", "__dealloc__", false },
	{ "__pyx_tp_traverse_", "__traverse__", false },
	{ "__pyx_tp_clear_", "__clear__", false },
};

static const struct prefix mypyc[] = {
	{ "CPyDef_", "", false },
	{ "CPyPy_", "", true },
};

static const struct prefix *find(const struct prefix *list, size_t cnt, const char *symbol)
{
	for (size_t i = 0; i < cnt; i++) {
		if (!strncmp(symbol, list[i].text, strlen(list[i].text)))
			return &list[i];
	}
	return NULL;
}

/* "__pyx_fuse_0_1": identifies the version of a function with fused types. */
static const char *skip_fused(const char *name)
{
	static const char fused[] = "__pyx_fuse_";

	if (strncmp(name, fused, strlen(fused)))
		return name;
	name += strlen(fused);
	for (name += strspn(name, "0123456789"); *name == '_' && isdigit((unsigned char)name[1]);)
		name += 1 + strspn(name + 1, "0123456789");
	return name;
}

/* The name in "5etree_", after its length. *ret: the name; returns 0 if it is not a scope. */
static size_t scope_at(const char *name, const char **ret)
{
	char *end;
	unsigned long len = isdigit((unsigned char)*name) ? strtoul(name, &end, 10) : 0;

	if (!len || len > strnlen(end, len) || end[len] != '_' || !end[len + 1] ||
	    isdigit((unsigned char)*end))
		return 0;
	*ret = end;
	return len;
}

/* Appends a name, after a dot; there is room. */
static char *put(char *to, const char *begin, const char *name, size_t len)
{
	if (to > begin)
		*to++ = '.';
	memcpy(to, name, len);
	to[len] = '\0';
	return to + len;
}

static char *of_cython(const struct prefix *p, const char *name)
{
	/* A scope has a digit and "_" in the place of its dot. */
	char *ret = malloc(strlen(name) + strlen(p->method) + 2), *to = ret;
	const char *scope;
	size_t len;

	if (!ret)
		return NULL;
	*ret = '\0';
	name = skip_fused(name);
	while ((len = scope_at(name, &scope))) {
		to = put(to, ret, scope, len);
		name = skip_fused(scope + len + 1);
	}
	/* Skip the number that makes it unique: a name never begins with a digit. */
	name += strspn(name, "0123456789");
	name = skip_fused(name);
	if (*name)
		to = put(to, ret, name, strlen(name));
	if (*p->method)
		to = put(to, ret, p->method, strlen(p->method));
	if (to > ret)
		return ret;
	free(ret);
	return NULL;
}

static char *of_mypyc(const char *name)
{
	char *ret = *name ? strdup(name) : NULL, *to = ret;

	if (!ret)
		return NULL;
	while (*name) {
		/* Stands for "___" in a name (mypyc/namegen.py exported_name()). */
		bool own = !strncmp(name, "___3_", 5);

		if (own) {
			memcpy(to, "___", 3);
			to += 3;
			name += 5;
		} else if (!strncmp(name, "___", 3) && name[3] && to > ret) {
			*to++ = '.';
			name += 3;
		} else {
			*to++ = *name++;
		}
	}
	*to = '\0';
	return ret;
}

char *cython_name(const char *symbol, bool *ret_wrapper)
{
	const struct prefix *p;
	char *name = NULL;

	symbol = skip_fused(symbol);
	p = find(cython, sizeof(cython) / sizeof(cython[0]), symbol);
	if (p) {
		name = of_cython(p, symbol + strlen(p->text));
	} else {
		p = find(mypyc, sizeof(mypyc) / sizeof(mypyc[0]), symbol);
		name = p ? of_mypyc(symbol + strlen(p->text)) : NULL;
	}
	*ret_wrapper = name && p->wrapper;
	return name;
}
