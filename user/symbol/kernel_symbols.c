/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/kernel_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/bytes.h"
#include "util/cleanup.h"

/* A kernel has about 200,000, and its modules as many again. */
#define SYMBOLS_MAX (4U << 20)
/* Of one read: the kernel gives as much as it likes, which is more than stdio asks it for. */
#define PIECE (1UL << 20)

struct kernel_symbols {
	char *path;
	bool loaded;
	char *text; /* the names, as the lines had them */
	struct kernel_symbol *list; /* by start */
	size_t cnt, cap;
};

struct kernel_symbols *kernel_symbols__new(const char *path)
{
	struct kernel_symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->path = strdup(path);
	if (s->path)
		return s;
	free(s);
	return NULL;
}

void kernel_symbols__free(struct kernel_symbols *s)
{
	if (!s)
		return;
	free(s->path);
	free(s->text);
	free(s->list);
	free(s);
}

static int read_text(struct kernel_symbols *s)
{
	cleanup_close int fd = open(s->path, O_RDONLY | O_CLOEXEC);
	cleanup_free char *piece = malloc(PIECE);
	struct bytes b = { 0 };
	ssize_t n = -1;

	if (fd < 0 || !piece)
		return fd < 0 ? -errno : -ENOMEM;
	while ((n = read(fd, piece, PIECE)) > 0)
		bytes_put(&b, piece, (size_t)n);
	bytes_put(&b, "", 1);
	if (b.failed || n < 0) {
		bytes_free(&b);
		return n < 0 ? -EIO : -ENOMEM;
	}
	s->text = (char *)b.data;
	return 0;
}

static int add(struct kernel_symbols *s, const struct kernel_symbol *symbol)
{
	size_t cap = s->cap ? s->cap * 2 : 4096;
	struct kernel_symbol *grown;

	if (s->cnt == SYMBOLS_MAX)
		return -E2BIG;
	if (s->cnt == s->cap) {
		grown = reallocarray(s->list, cap, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		s->list = grown;
		s->cap = cap;
	}
	s->list[s->cnt++] = *symbol;
	return 0;
}

/* "ffffffff81000000 T name\t[module]"; code only. */
static bool parse_line(char *line, struct kernel_symbol *ret)
{
	char *at, *tab;

	ret->start = strtoull(line, &at, 16);
	if (!ret->start || at[0] != ' ' || !at[1] || !strchr("tTwW", at[1]) || at[2] != ' ')
		return false;
	ret->name = at + 3;
	ret->module = "";
	tab = strchr(at + 3, '\t');
	if (!tab)
		return true;
	*tab = '\0';
	if (tab[1] == '[' && tab[strlen(tab + 1)] == ']') {
		tab[strlen(tab + 1)] = '\0';
		ret->module = tab + 2;
	}
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct kernel_symbol *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void load(struct kernel_symbols *s)
{
	struct kernel_symbol symbol = { 0 };
	char *line, *rest;

	s->loaded = true;
	if (read_text(s))
		return;
	for (line = strtok_r(s->text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (parse_line(line, &symbol) && add(s, &symbol))
			break;
	}
	if (s->cnt)
		qsort(s->list, s->cnt, sizeof(*s->list), compare);
}

struct kernel_symbol *kernel_symbols__find(struct kernel_symbols *s, __u64 addr)
{
	size_t low = 0, high;

	if (!s->loaded)
		load(s);
	high = s->cnt;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->list[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	/* Of several at one address the first, whichever address within was asked for. */
	while (low > 1 && s->list[low - 2].start == s->list[low - 1].start)
		low--;
	return low ? &s->list[low - 1] : NULL;
}
