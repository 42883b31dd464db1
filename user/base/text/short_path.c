/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text/short_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/vec.h"

/* Few: cells of one notebook. */
static struct named {
	char *path, *name;
	bool sure, dropped;
} * named;
static unsigned named_cnt, named_cap;

static struct named *find(const char *path)
{
	for (unsigned i = named_cnt; i-- > 0;)
		if (!strcmp(named[i].path, path))
			return &named[i];
	return NULL;
}

static int add(const char *path, const char *name, bool sure)
{
	struct named new = { strdup(path), strdup(name), .sure = sure };

	if (!new.path || !new.name || vec_reserve(named, named_cap, named_cnt + 1)) {
		free(new.path);
		free(new.name);
		return -ENOMEM;
	}
	named[named_cnt++] = new;
	return 0;
}

int short_path_call(const char *path, const char *name)
{
	return add(path, name, true);
}

int short_path_claim(const char *path, const char *name)
{
	struct named *known = find(path);

	if (!known)
		return name ? add(path, name, false) : 0;
	/* Somebody may still hold the name: it stays. */
	known->dropped |= !known->sure && (!name || strcmp(name, known->name));
	return 0;
}

static const char *called(const char *path)
{
	const struct named *known = find(path);

	return known && !known->dropped ? known->name : NULL;
}

/* Returns the position after the last "/DIR/"; NULL: none. */
static const char *after_dir(const char *path, const char *dir)
{
	const char *found = NULL, *at;

	for (at = path; (at = strstr(at, dir)); at++)
		found = at + strlen(dir);
	return found;
}

/* Returns the position after "/lib/python3.14/" or "/lib64/python3.14t/"; NULL: none. */
static const char *after_stdlib(const char *path)
{
	const char *at = after_dir(path, "/python3.");
	const char *end = at ? at + strspn(at, "0123456789tbdm") : NULL;

	return end && end > at && *end == '/' ? end + 1 : NULL;
}

const char *short_path(const char *path)
{
	const char *s, *base, *parent;

	if ((s = called(path)))
		return s;
	if (path[0] != '/')
		return path;
	if ((s = after_dir(path, "/site-packages/")) || (s = after_dir(path, "/dist-packages/")))
		return s;
	s = after_stdlib(path);
	if (s)
		return s;
	base = strrchr(path, '/') + 1;
	if (strcmp(base, "__init__.py") && strcmp(base, "__main__.py"))
		return *base ? base : path;
	for (parent = base - 1; parent > path && parent[-1] != '/';)
		parent--;
	return parent == path ? base : parent;
}

pid_t cell_path_pid(const char *path)
{
	const char *pid = after_dir(path, "/ipykernel_");
	size_t digits = pid ? strspn(pid, "0123456789") : 0;

	return digits && digits < 10 && pid[digits] == '/' && !strchr(pid + digits + 1, '/') ?
		       (pid_t)strtol(pid, NULL, 10) :
		       0;
}

bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *short_file(char buf[SHORT_FILE_SIZE], const char *path)
{
	static const char cell[] = "<ipython-input-";
	const char *name = short_path(path), *tag = strstr(name, ".cpython-"), *end;

	if (starts_with(name, cell)) {
		int digits = (int)strspn(name + strlen(cell), "0123456789");

		snprintf(buf, SHORT_FILE_SIZE, "cell %.*s", digits < 9 ? digits : 9,
			 name + strlen(cell));
		return digits ? buf : name;
	}
	/* CPython's EXT_SUFFIX (configure.ac) contains no dot within the tag. */
	end = tag ? strchr(tag + 1, '.') : NULL;
	if (!end || strcmp(end, ".so") || (size_t)(tag - name) + sizeof(".so") > SHORT_FILE_SIZE)
		return name;
	snprintf(buf, SHORT_FILE_SIZE, "%.*s%s", (int)(tag - name), name, end);
	return buf;
}
