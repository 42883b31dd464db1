/* SPDX-License-Identifier: BSD-2-Clause */
#include "dso/native_names.h"
#include "util/vec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define WORD "native "

void native_names_free(struct native_names *n)
{
	free(n->list);
	idindex_free(&n->index);
	strtab_free(&n->texts);
	*n = (struct native_names){ 0 };
}

static __u32 hash_of(__u32 path, __u64 offset)
{
	return idindex_hash_pair(path ^ (__u32)(offset >> 32), (__u32)offset);
}

static const struct native_name *find(const struct native_names *n, __u32 path, __u64 offset)
{
	const struct idindex_slot *slot;

	idindex_for_each(&n->index, hash_of(path, offset), slot) {
		const struct native_name *found = &n->list[slot->id - 1];

		if (found->path == path && found->offset == offset)
			return found;
	}
	return NULL;
}

const char *native_names_find(const struct native_names *n, const char *path, __u64 offset)
{
	__u32 id = n->cnt ? strtab_find(&n->texts, path, strlen(path)) : 0;
	const struct native_name *found = id ? find(n, id, offset) : NULL;

	return found ? strtab_text(&n->texts, found->name) : NULL;
}

static int reserve(struct native_names *n)
{
	int err = n->texts.texts ? 0 : strtab_init(&n->texts);

	if (!err)
		err = vec_reserve(n->list, n->cap, n->cnt + 1);
	return err ? err : idindex_reserve(&n->index);
}

int native_names_add(struct native_names *n, const char *path, __u64 offset, const char *name)
{
	struct native_name new = { .offset = offset };

	if (n->cnt == NATIVE_NAMES_MAX || !*path || !*name)
		return 0;
	if (reserve(n))
		return -ENOMEM;
	new.path = strtab_add(&n->texts, path, strlen(path), 0);
	new.name = strtab_add(&n->texts, name, strlen(name), 0);
	if (!new.path || !new.name)
		return -ENOMEM;
	if (find(n, new.path, offset))
		return 0;
	n->list[n->cnt] = new;
	idindex_insert(&n->index, hash_of(new.path, offset), ++n->cnt);
	return 0;
}

/* A line must not become two. */
static bool is_line(const char *text)
{
	return !strpbrk(text, "\r\n");
}

static int by_path(const void *a, const void *b)
{
	const struct native_name *x = a, *y = b;

	if (x->path != y->path)
		return x->path < y->path ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

void native_names_write(const struct native_names *n, FILE *out)
{
	struct native_name *sorted = malloc((n->cnt + 1) * sizeof(*sorted));
	__u32 path = 0;

	if (!sorted)
		return;
	if (n->cnt)
		memcpy(sorted, n->list, n->cnt * sizeof(*sorted));
	qsort(sorted, n->cnt, sizeof(*sorted), by_path);
	for (__u32 i = 0; i < n->cnt; i++) {
		const char *in = strtab_text(&n->texts, sorted[i].path);
		const char *name = strtab_text(&n->texts, sorted[i].name);

		if (!is_line(in) || !is_line(name))
			continue;
		if (path != sorted[i].path)
			fprintf(out, WORD "%s\n", in);
		path = sorted[i].path;
		fprintf(out, " %llx %s\n", sorted[i].offset, name);
	}
	free(sorted);
}

int native_names_read(struct native_names *n, const char *notes)
{
	char *copy = strdup(notes), *line, *rest = NULL, *end;
	const char *path = NULL;
	int err = copy ? 0 : -ENOMEM;

	for (line = copy ? strtok_r(copy, "\n", &rest) : NULL; line && !err;
	     line = strtok_r(NULL, "\n", &rest)) {
		__u64 offset = *line == ' ' ? strtoull(line + 1, &end, 16) : 0;

		if (*line != ' ')
			path = strncmp(line, WORD, strlen(WORD)) ? NULL : line + strlen(WORD);
		else if (path && end != line + 1 && *end == ' ')
			err = native_names_add(n, path, offset, end + 1);
	}
	free(copy);
	return err;
}
