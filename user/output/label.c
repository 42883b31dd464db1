/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * label.c - frames as text.
 */
#include "output/label.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/escape.h"
#include "profile/marks.h"
#include "base/text/short_path.h"

const char *label_name(const struct view *v, const struct profile_frame *f)
{
	const char *name = view_name(v, f);

	if (f == v->frames)
		return MARK_NO_STACK;
	return *name ? name : NAME_EMPTY;
}

int put_label(FILE *out, const struct view *v, const struct profile_frame *f)
{
	const char *file = view_file(v, f);
	int err;

	err = put_printable(out, label_name(v, f));
	/* stackcollapse-perf.pl's mark, which flame graph tools use to choose colours. */
	if (!err && f->kind == FRAME_KERNEL)
		fputs("_[k]", out);
	/*
	 * The kernel cuts names to 15 bytes, and before CPython 3.14 all threads have the program's
	 * name.
	 */
	if (!err && f->tid > 0)
		fprintf(out, "/%d", f->tid);
	if (err || (f->kind != FRAME_PYTHON && f->kind != FRAME_NATIVE) || !*file)
		return err;
	/* Code without a symbol is already named after its file. */
	if (f->kind == FRAME_NATIVE && *label_name(v, f) == '[')
		return 0;
	fputs(" (", out);
	err = put_printable(out, short_path(file));
	if (f->line > 0)
		fprintf(out, ":%d", f->line);
	putc(')', out);
	return err;
}

int put_short_file(FILE *out, const char *path)
{
	char buf[SHORT_FILE_SIZE];

	return put_shown(out, short_file(buf, path));
}

static char *folded_label(const struct view *v, const struct profile_frame *f)
{
	char *label = NULL, *s;
	size_t size = 0;
	FILE *out = open_memstream(&label, &size);
	int err;

	if (!out)
		return NULL;
	err = put_label(out, v, f);
	if (fclose(out) || err) {
		free(label);
		return NULL;
	}
	for (s = label; *s; s++) {
		if (*s == ';')
			*s = ':';
		else if (*s == ' ' && f->kind == FRAME_PROCESS)
			*s = '_';
	}
	return label;
}

int folded_labels_new(char ***ret, const struct view *v)
{
	char **labels = calloc(v->frame_cnt, sizeof(*labels));
	__u32 i;

	if (!labels)
		return -ENOMEM;
	for (i = 0; i < v->frame_cnt; i++) {
		labels[i] = folded_label(v, &v->frames[i]);
		if (!labels[i]) {
			labels_free(labels, v->frame_cnt);
			return -ENOMEM;
		}
	}
	*ret = labels;
	return 0;
}

void labels_free(char **labels, __u32 cnt)
{
	__u32 i;

	if (!labels)
		return;
	for (i = 0; i < cnt; i++)
		free(labels[i]);
	free(labels);
}
