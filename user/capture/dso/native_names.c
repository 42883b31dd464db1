/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/dso/native_names.h"
#include "base/data/compare.h"
#include "base/data/vec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profile/dict.h"
#include "profile/marks.h"
#include "profile/parts.h"
#include "base/data/vec.h"

#define WORD "native "
/* Older readers do not take this for a place. */
#define LINE "= "
#define WRAPPER "wrapper"
#define INTERPRETER "interpreter"

void native_names_free(struct native_names *n)
{
	free(n->list);
	free(n->lines);
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

const struct native_name *native_names_find(const struct native_names *n, const char *path,
					    __u64 offset)
{
	__u32 id = n->cnt ? strtab_find(&n->texts, path, strlen(path)) : 0;

	return id ? find(n, id, offset) : NULL;
}

static int reserve(struct native_names *n)
{
	int err = n->texts.texts ? 0 : strtab_init(&n->texts);

	if (!err)
		err = vec_reserve(n->list, n->cap, n->cnt + 1);
	return err ? err : idindex_reserve(&n->index);
}

int native_names_add(struct native_names *n, const char *path, __u64 offset, const char *name,
		     __u32 frame)
{
	struct native_name new = { .offset = offset, .frame = frame };

	if (n->cnt == NATIVE_NAMES_MAX || !*path || (name && !*name))
		return 0;
	if (reserve(n))
		return -ENOMEM;
	new.path = strtab_add(&n->texts, path, strlen(path), 0);
	new.name = name ? strtab_add(&n->texts, name, strlen(name), 0) : 0;
	if (!new.path || (name && !new.name))
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

	return compare_numbers(x->path, y->path) ?: compare_numbers(x->offset, y->offset);
}

/* The length of the name in "name (inlined)". */
static size_t native_inlined_length(const char *name)
{
	size_t len = strlen(name), end = strlen(NAME_INLINED);

	return len > end && !strcmp(name + len - end, NAME_INLINED) ? len - end : len;
}

/* NULL: it has none. */
static const char *name_of(const struct native_names *n, const struct dict *dict,
			   const struct native_name *place)
{
	const struct profile_frame *f;
	const char *name;

	if (place->name)
		return strtab_text(&n->texts, place->name);
	if (!dict || !place->frame)
		return NULL;
	f = dict__frame_at(dict, place->frame);
	name = dict__text(dict, f->name);
	return *name && (*name != '[' || f->interpreter) ? name : NULL;
}

/* Writes what the dictionary knows about the place. */
static void write_lines(const struct dict *dict, __u32 frame, FILE *out)
{
	__u32 cnt;
	const __u32 *frames = parts_of(dict__parts(dict), frame, &cnt);

	if (dict__frame_at(dict, frame)->wrapper)
		fprintf(out, " " LINE WRAPPER "\n");
	if (dict__frame_at(dict, frame)->interpreter)
		fprintf(out, " " LINE INTERPRETER "\n");
	for (__u32 i = 0; i < cnt; i++) {
		const struct profile_frame *f = dict__frame_at(dict, frames[i]);
		const char *source = dict__text(dict, f->source), *name = dict__text(dict, f->name);

		if (!is_line(source) || !is_line(name) || strchr(source, '\t'))
			return;
		fprintf(out, " " LINE "%d %s", f->line > 0 ? f->line : 0, source);
		if (i)
			fprintf(out, "\t%.*s", (int)native_inlined_length(name), name);
		putc('\n', out);
	}
}

void native_names_write(const struct native_names *n, const struct dict *dict, FILE *out)
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
		const char *name = name_of(n, dict, &sorted[i]);

		if (!name || !is_line(in) || !is_line(name))
			continue;
		if (path != sorted[i].path)
			fprintf(out, WORD "%s\n", in);
		path = sorted[i].path;
		fprintf(out, " %llx %s\n", sorted[i].offset, name);
		if (dict && sorted[i].frame)
			write_lines(dict, sorted[i].frame, out);
	}
	free(sorted);
}

/* ---- reading ----------------------------------------------------------------------------------- */

/* "1803 deflate.c", "120 deflate.h<TAB>insert_string", a word: belongs to the last place read. */
static int read_line(struct native_names *n, char *text)
{
	struct native_name *of = &n->list[n->cnt - 1];
	struct native_line new = { 0 };
	char *end, *name;
	long line = strtol(text, &end, 10);

	if (!strcmp(text, WRAPPER)) {
		of->is_wrapper = true;
		return 0;
	}
	if (!strcmp(text, INTERPRETER)) {
		of->is_interpreter = true;
		return 0;
	}
	if (end == text || *end != ' ' || of->line_cnt == NATIVE_LINES_MAX)
		return 0;
	if (vec_reserve(n->lines, n->line_cap, n->line_cnt + 1))
		return -ENOMEM;
	name = strchr(++end, '\t');
	if (name)
		*name++ = '\0';
	new.line = line > 0 && line < 1 << 30 ? (int)line : 0;
	new.source = *end ? strtab_add(&n->texts, end, strlen(end), 0) : 0;
	new.name = name &&*name ? strtab_add(&n->texts, name, strlen(name), 0) : 0;
	if ((*end && !new.source) || (name && *name && !new.name))
		return -ENOMEM;
	if (!of->line_cnt++)
		of->first_line = n->line_cnt;
	n->lines[n->line_cnt++] = new;
	return 0;
}

/* Reads a place, in the file named before. *ret: it is new, and gets the lines that follow. */
static int read_place(struct native_names *n, const char *path, const char *text, bool *ret)
{
	char *end;
	__u64 offset = strtoull(text, &end, 16);
	__u32 cnt = n->cnt;
	int err = end != text && *end == ' ' ? native_names_add(n, path, offset, end + 1, 0) : 0;

	*ret = n->cnt > cnt;
	return err;
}

int native_names_read(struct native_names *n, const char *notes)
{
	char *copy = strdup(notes), *line, *rest = NULL;
	const char *path = NULL;
	bool is_new = false;
	int err = copy ? 0 : -ENOMEM;

	for (line = copy ? strtok_r(copy, "\n", &rest) : NULL; line && !err;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (*line != ' ') {
			path = strncmp(line, WORD, strlen(WORD)) ? NULL : line + strlen(WORD);
			is_new = false;
		} else if (!strncmp(line + 1, LINE, strlen(LINE))) {
			err = is_new ? read_line(n, line + 1 + strlen(LINE)) : 0;
		} else if (path) {
			err = read_place(n, path, line + 1, &is_new);
		}
	}
	free(copy);
	return err;
}
