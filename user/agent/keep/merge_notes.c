/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/keep/merge_notes.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/accounts.h"
#include "profile/strtab.h"
#include "base/data/vec.h"

/* The beginnings of their lines, from capture/dso/kernel_names.c and capture/dso/native_names.c. */
#define KERNEL "kernel "
#define NATIVE "native "
/* From capture/perfdata/output.c. */
#define LOST "lost."
/* Not a number of something: the earliest one counts. */
#define BEGAN "began_ns"
/* As many as accounts of 128 events have. */
#define NUMBERS_MAX 16384U
#define KEY_MAX 4096

struct number {
	__u32 name; /* string id in seen */
	__u64 value;
};

/* A part of the output text. */
struct part {
	FILE *out;
	char *text;
	size_t size;
};

struct merge_notes {
	struct strtab seen; /* names of numbers, and lines already written */
	struct number *numbers; /* in order of first occurrence */
	__u32 number_cnt, number_cap;
	struct part kernel, native, rest;
	char *path; /* of native code, last one written; NULL: none */
};

/* State of the reader. */
struct reading {
	bool numbers; /* wanted */
	char path[KEY_MAX]; /* of native code: the file of the next places */
	bool skip; /* what follows belongs to a known place */
};

static void part_free(struct part *p)
{
	if (p->out)
		fclose(p->out);
	free(p->text);
}

struct merge_notes *merge_notes__new(void)
{
	struct merge_notes *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->kernel.out = open_memstream(&n->kernel.text, &n->kernel.size);
	n->native.out = open_memstream(&n->native.text, &n->native.size);
	n->rest.out = open_memstream(&n->rest.text, &n->rest.size);
	if (!strtab_init(&n->seen) && n->kernel.out && n->native.out && n->rest.out)
		return n;
	merge_notes__free(n);
	return NULL;
}

void merge_notes__free(struct merge_notes *n)
{
	if (!n)
		return;
	part_free(&n->kernel);
	part_free(&n->native);
	part_free(&n->rest);
	strtab_free(&n->seen);
	free(n->numbers);
	free(n->path);
	free(n);
}

/* Returns 1: it is new; 0; -ENOMEM. */
static int add_seen(struct merge_notes *n, const char *text, size_t len)
{
	if (!len || strtab_find(&n->seen, text, len))
		return 0;
	return strtab_add(&n->seen, text, len, 0) ? 1 : -ENOMEM;
}

/* ---- numbers ---------------------------------------------------------------------------------- */

static struct number *find_number(const struct merge_notes *n, const char *name, size_t len)
{
	__u32 id = strtab_find(&n->seen, name, len);

	for (__u32 i = 0; id && i < n->number_cnt; i++) {
		if (n->numbers[i].name == id)
			return &n->numbers[i];
	}
	return NULL;
}

static int add_number(struct merge_notes *n, const char *name, size_t len, __u64 value)
{
	struct number *found = find_number(n, name, len);
	__u32 id;

	if (found && len == strlen(BEGAN) && !memcmp(name, BEGAN, len)) {
		found->value = value < found->value ? value : found->value;
		return 0;
	}
	if (found) {
		found->value += value;
		return 0;
	}
	if (n->number_cnt == NUMBERS_MAX)
		return 0;
	id = strtab_add(&n->seen, name, len, 0);
	if (!id || vec_reserve(n->numbers, n->number_cap, n->number_cnt + 1))
		return -ENOMEM;
	n->numbers[n->number_cnt++] = (struct number){ id, value };
	return 0;
}

int merge_notes__count(struct merge_notes *n, const char *name, __u64 value)
{
	return add_number(n, name, strlen(name), value);
}

/* The name after "event1.", which the first event's numbers lack. */
static const char *plain_name(const char *name)
{
	unsigned event;
	int len = 0;

	return sscanf(name, "event%u.%n", &event, &len) == 1 && len ? name + len : name;
}

/* Lost for that reason, over all events. */
static __u64 lost_for(const struct merge_notes *n, const char *reason)
{
	__u64 sum = 0;

	for (__u32 i = 0; i < n->number_cnt; i++) {
		const char *name = plain_name(strtab_text(&n->seen, n->numbers[i].name));

		if (!strncmp(name, LOST, strlen(LOST)) && !strcmp(name + strlen(LOST), reason))
			sum += n->numbers[i].value;
	}
	return sum;
}

/* Notes are untrusted: one of krait's own words. NULL: nothing was lost. */
static const char *main_reason(const struct merge_notes *n, __u64 lost)
{
	const char *ret = lost ? "unknown" : NULL;
	__u64 most = 0;

	for_each_reason(r) {
		const __u64 cnt = lost_for(n, reason_name(r));

		if (cnt > most) {
			most = cnt;
			ret = reason_name(r);
		}
	}
	return ret;
}

void merge_notes__totals(const struct merge_notes *n, __u64 *ret_interrupts, __u64 *ret_lost,
			 const char **ret_why)
{
	*ret_interrupts = *ret_lost = 0;
	for (__u32 i = 0; i < n->number_cnt; i++) {
		const char *name = plain_name(strtab_text(&n->seen, n->numbers[i].name));

		if (!strcmp(name, "interrupts"))
			*ret_interrupts += n->numbers[i].value;
		if (!strncmp(name, LOST, strlen(LOST)))
			*ret_lost += n->numbers[i].value;
	}
	*ret_why = main_reason(n, *ret_lost);
}

/* "lost.ring full 17": the number is the last word. */
static bool split_number(const char *line, size_t len, size_t *ret_name, __u64 *ret)
{
	size_t at = len;
	char *end;

	while (at && isdigit((unsigned char)line[at - 1]))
		at--;
	if (at == len || at < 2 || line[at - 1] != ' ' || len - at > 20)
		return false;
	*ret_name = at - 1;
	*ret = strtoull(line + at, &end, 10);
	return true;
}

/* ---- lines ------------------------------------------------------------------------------------ */

/* "kernel ffffffff81234566 [ext4] ext4_file_read_iter": the first one for an address counts. */
static int add_kernel(struct merge_notes *n, const char *line, size_t len)
{
	const char *address_end = memchr(line + strlen(KERNEL), ' ', len - strlen(KERNEL));
	int is_new = address_end ? add_seen(n, line, (size_t)(address_end - line)) : 0;

	if (is_new > 0)
		fprintf(n->kernel.out, "%.*s\n", (int)len, line);
	return is_new < 0 ? is_new : 0;
}

static int write_path(struct merge_notes *n, const char *path)
{
	if (n->path && !strcmp(n->path, path))
		return 0;
	free(n->path);
	n->path = strdup(path);
	fprintf(n->native.out, NATIVE "%s\n", path);
	return n->path ? 0 : -ENOMEM;
}

/* " 1a2b name" begins a place in the file named before; " = ..." continues it. */
static int add_native(struct merge_notes *n, struct reading *s, const char *line, size_t len)
{
	char key[2 * KEY_MAX];
	const char *end;
	int cnt, is_new;

	if (line[1] == '=') {
		if (!s->skip)
			fprintf(n->native.out, "%.*s\n", (int)len, line);
		return 0;
	}
	end = memchr(line + 1, ' ', len - 1);
	cnt = end ? snprintf(key, sizeof(key), NATIVE "%.*s %s", (int)(end - line - 1), line + 1,
			     s->path) :
		    0;
	s->skip = true;
	if (!*s->path || cnt <= 0 || (size_t)cnt >= sizeof(key))
		return 0;
	is_new = add_seen(n, key, (size_t)cnt);
	if (is_new <= 0)
		return is_new;
	s->skip = false;
	is_new = write_path(n, s->path);
	fprintf(n->native.out, "%.*s\n", (int)len, line);
	return is_new;
}

static int add_line(struct merge_notes *n, struct reading *s, const char *line, size_t len)
{
	size_t name;
	__u64 value;
	int is_new;

	if (line[0] == ' ')
		return add_native(n, s, line, len);
	s->skip = true;
	*s->path = '\0';
	if (!strncmp(line, KERNEL, strlen(KERNEL)))
		return add_kernel(n, line, len);
	if (!strncmp(line, NATIVE, strlen(NATIVE))) {
		if (len - strlen(NATIVE) < sizeof(s->path)) {
			memcpy(s->path, line + strlen(NATIVE), len - strlen(NATIVE));
			s->path[len - strlen(NATIVE)] = '\0';
		}
		return 0;
	}
	if (strncmp(line, "ids ", 4) != 0 && split_number(line, len, &name, &value))
		return s->numbers ? add_number(n, line, name, value) : 0;
	is_new = add_seen(n, line, len);
	if (is_new > 0)
		fprintf(n->rest.out, "%.*s\n", (int)len, line);
	return is_new < 0 ? is_new : 0;
}

static int add(struct merge_notes *n, const char *notes, bool numbers)
{
	struct reading state = { .numbers = numbers, .skip = true };
	int err = 0;

	while (*notes && !err) {
		const char *end = strchrnul(notes, '\n');

		if (end > notes)
			err = add_line(n, &state, notes, (size_t)(end - notes));
		notes = *end ? end + 1 : end;
	}
	return err;
}

int merge_notes__add(struct merge_notes *n, const char *notes)
{
	return add(n, notes, true);
}

int merge_notes__add_names(struct merge_notes *n, const char *notes)
{
	return add(n, notes, false);
}

char *merge_notes__text(const struct merge_notes *n)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (__u32 i = 0; i < n->number_cnt; i++)
		fprintf(out, "%s %llu\n", strtab_text(&n->seen, n->numbers[i].name),
			n->numbers[i].value);
	fflush(n->kernel.out);
	fflush(n->native.out);
	fflush(n->rest.out);
	/* The kernel's names and what follows them go into every library. */
	fwrite(n->kernel.text, 1, n->kernel.size, out);
	fwrite(n->native.text, 1, n->native.size, out);
	fwrite(n->rest.text, 1, n->rest.size, out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
