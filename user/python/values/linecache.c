/* SPDX-License-Identifier: BSD-2-Clause */
#include "python/values/linecache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/values/modules.h"
#include "python/values/object_read.h"
#include "python/values/py_string.h"
#include "base/data/cleanup.h"

struct finding {
	const char *file;
	__u64 lines_addr; /* the list; 0: none yet */
	__u64 left; /* entries of the dictionary */
	bool several;
	bool cut; /* some had more */
};

/* An entry is (size, mtime, lines, fullname), Lib/linecache.py; one that is still to be loaded has one element. */
enum { ENTRY_LINES = 2, ENTRY_FULLNAME = 3, ENTRY_SIZE = 4 };

static bool take_entry(struct object_text *t, void *ctx, __u64 key_addr, __u64 value_addr)
{
	struct finding *f = ctx;
	__u64 cnt, items[ENTRY_SIZE];
	cleanup_free char *name = NULL;
	struct object_head h;

	t->reads = 0;
	f->left -= f->left > 0;
	if (object_head_read(t, value_addr, &h) || !(h.flags & TYPE_TUPLE) ||
	    object_read_u64(t, value_addr + t->layout->header, &cnt) || cnt != ENTRY_SIZE ||
	    object_read(t, value_addr + t->layout->tuple_items, items, sizeof(items)) ||
	    py_string_read_any(t->memory, t->layout->offsets, items[ENTRY_FULLNAME], &name) ||
	    strcmp(name, f->file))
		return true;
	f->several |= f->lines_addr && f->lines_addr != items[ENTRY_LINES];
	f->lines_addr = items[ENTRY_LINES];
	return true;
}

static int find(struct object_text *t, __u64 dict_addr, struct finding *f)
{
	struct object_head h;
	int err;

	t->reads = 0;
	if (!dict_addr || object_head_read(t, dict_addr, &h) || !(h.flags & TYPE_DICT))
		return 0;
	err = object_read_u64(t, dict_addr + t->layout->header, &f->left); /* ma_used */
	if (!err)
		err = object_each_item(t, dict_addr, take_entry, f);
	f->cut |= f->left > 0;
	return err;
}

static int put_line(struct object_text *t, FILE *out, __u64 addr)
{
	cleanup_free char *line = NULL;
	int err = py_string_read_any(t->memory, t->layout->offsets, addr, &line);

	if (err)
		return err;
	/* One line, whatever it contains. */
	fprintf(out, "%.*s\n", (int)strcspn(line, "\n"), line);
	return ftell(out) > (long)LINECACHE_TEXT_MAX ? -EFBIG : 0;
}

static int read_lines(struct object_text *t, __u64 list_addr, FILE *out)
{
	__u64 words[2], addr; /* ob_size, ob_item */
	struct object_head h;
	int err;

	t->reads = 0;
	err = object_head_read(t, list_addr, &h);
	if (!err && !(h.flags & TYPE_LIST))
		err = -ENOENT;
	if (!err)
		err = object_read(t, list_addr + t->layout->header, words, sizeof(words));
	if (!err && words[0] > LINECACHE_LINES_MAX)
		err = -EFBIG;
	for (__u64 i = 0; !err && i < words[0]; i++) {
		t->reads = 0;
		err = object_read_u64(t, words[1] + 8 * i, &addr);
		if (!err)
			err = put_line(t, out, addr);
	}
	return err;
}

int linecache_read(struct object_text *t, __u64 runtime_addr, __u64 interp_addr, const char *file,
		   char **ret)
{
	/* The second is new in 3.14. */
	static const char *const dicts[] = { "cache", "_interactive_cache" };
	struct finding f = { .file = file };
	char *text = NULL;
	size_t size;
	FILE *out;
	int err = 0;

	for (size_t i = 0; i < sizeof(dicts) / sizeof(dicts[0]) && !err; i++)
		err = find(t, module_attribute(t, runtime_addr, interp_addr, "linecache", dicts[i]),
			   &f);
	if (err || !f.lines_addr || f.several)
		return err ? err : f.several ? -EEXIST : f.cut ? -EFBIG : -ENOENT;
	out = open_memstream(&text, &size);
	err = out ? read_lines(t, f.lines_addr, out) : -ENOMEM;
	if (out && fclose(out))
		err = -ENOMEM;
	if (err)
		free(text);
	else
		*ret = text;
	return err;
}

/* ---- cells ------------------------------------------------------------------------------------ */

struct cell {
	const char *file;
	__u32 number; /* 0: not found yet */
};

/* An int of one digit (Include/cpython/longintrepr.h): its size comes first, above three bits from 3.12 on. */
static bool take_cell(struct object_text *t, void *ctx, __u64 key_addr, __u64 value_addr)
{
	cleanup_free char *name = NULL;
	struct cell *c = ctx;
	struct {
		__u64 size;
		__u32 digit;
	} number;

	t->reads = 0;
	if (py_string_read_any(t->memory, t->layout->offsets, key_addr, &name) ||
	    strcmp(name, c->file))
		return true;
	if (!object_read(t, value_addr + t->layout->header, &number, 12) &&
	    (t->layout->minor >= 12 ? number.size >> 3 : number.size) == 1)
		c->number = number.digit;
	return false;
}

/* get_ipython() is a method of the shell, whose compiler knows its cells (IPython/core/compilerop.py, 7.17 and later). */
__u32 linecache_cell(struct object_text *t, __u64 runtime_addr, __u64 interp_addr, const char *file)
{
	const __u64 method_addr =
		module_attribute(t, runtime_addr, interp_addr, "__main__", "get_ipython");
	__u64 addr = 0;
	struct cell c = { .file = file };
	struct object_head h;

	t->reads = 0;
	if (!method_addr || object_head_read(t, method_addr, &h) || strcmp(h.type_name, "method") ||
	    object_read_u64(t, method_addr + t->layout->header + 8, &addr)) /* im_self */
		return 0;
	for (unsigned i = 0; addr && i < 2; i++) {
		t->reads = 0;
		addr = object_attribute(t, addr, i ? "_filename_map" : "compile");
	}
	t->reads = 0;
	if (!addr || object_head_read(t, addr, &h) || !(h.flags & TYPE_DICT) ||
	    object_each_item(t, addr, take_cell, &c))
		return 0;
	return c.number;
}
