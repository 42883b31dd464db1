/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/kernel_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/data/compare.h"
#include "base/data/search.h"
#include "base/data/vec.h"
#include "base/worker/keeper.h"

/* A kernel has about 200,000, and its modules as many again. */
#define SYMBOLS_MAX (4U << 20)
/* Enough for a text of 5 MB: memory that is never written costs nothing. */
#define TEXT_FIRST (8UL << 20)
#define TEXT_MAX (1UL << 30)

/*
 * The kernel has some 100,000; only the few hundred that a recording meets get a struct
 * kernel_symbol.
 */
struct symbol {
	__u64 start;
	__u32 name; /* in text; the module's name follows */
	__u32 found; /* index + 1, or 0 */
};

/* Code of krait's own. */
struct own_code {
	__u64 start, end;
};

struct kernel_symbols {
	char *path;
	bool loaded;
	char *text; /* the names; while reading, the lines */
	struct symbol *list; /* by start */
	size_t cnt, cap;
	struct kernel_symbol **found;
	size_t found_cnt, found_cap;
	__u64 text_start, text_end; /* of the kernel's own code; 0 unknown */
	struct own_code *own; /* by start, once loaded */
	size_t own_cnt, own_cap;
	kernel_tap_fn tap; /* may be NULL */
	void *tap_ctx;
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
	for (size_t i = 0; i < s->found_cnt; i++)
		free(s->found[i]);
	free(s->found);
	free(s->own);
	free(s->path);
	free(s->text);
	free(s->list);
	free(s);
}

/* The length of the text; zeroes follow. */
static ssize_t read_text(struct kernel_symbols *s)
{
	cleanup_close int fd = keeper_is_there() ? keeper_open(KEEPER_KERNEL_SYMBOLS, s->path) :
						   open(s->path, O_RDONLY | O_CLOEXEC);
	size_t len = 0, cap = 0;
	ssize_t n = 1;

	if (fd < 0)
		return -errno;
	while (n > 0) {
		if (len + 1 >= cap) {
			char *grown;

			cap = cap ? 2 * cap : TEXT_FIRST;
			grown = cap > TEXT_MAX ? NULL : realloc(s->text, cap);
			if (!grown)
				return -ENOMEM;
			s->text = grown;
		}
		n = read(fd, s->text + len, cap - len - 1);
		len += n > 0 ? (size_t)n : 0;
	}
	s->text[len] = '\0';
	return n < 0 ? -EIO : (ssize_t)len;
}

/* Names move to the front of the text, over lines already parsed: each is shorter than its line. */
static int add(struct kernel_symbols *s, const struct kernel_symbol *symbol, char **end)
{
	size_t name_size = strlen(symbol->name) + 1, module_size = strlen(symbol->module) + 1;

	if (s->cnt == SYMBOLS_MAX)
		return -E2BIG;
	if (vec_reserve(s->list, s->cap, s->cnt + 1))
		return -ENOMEM;
	s->list[s->cnt++] = (struct symbol){ symbol->start, (__u32)(*end - s->text), 0 };
	memmove(*end, symbol->name, name_size);
	memmove(*end + name_size, symbol->module, module_size);
	*end += name_size + module_size;
	return 0;
}

/* The kernel writes lower-case digits; strtoull() takes three times as long. */
static __u64 parse_hex(const char *at, const char **ret_end)
{
	__u64 value = 0;

	for (;; at++) {
		if (*at >= '0' && *at <= '9')
			value = value << 4 | (__u64)(*at - '0');
		else if (*at >= 'a' && *at <= 'f')
			value = value << 4 | (__u64)(*at - 'a' + 10);
		else
			break;
	}
	*ret_end = at;
	return value;
}

/* "ffffffff81000000 T name\t[module]"; code only. */
static bool parse_line(char *line, char *end, struct kernel_symbol *ret)
{
	const char *at;
	char *name, *tab;

	ret->start = parse_hex(line, &at);
	if (!ret->start || at[0] != ' ' || !at[1] || !strchr("tTwW", at[1]) || at[2] != ' ')
		return false;
	name = line + (at - line) + 3;
	ret->name = name;
	ret->module = "";
	tab = memchr(name, '\t', (size_t)(end - name));
	if (!tab)
		return true;
	*tab = '\0';
	if (tab[1] == '[' && end[-1] == ']') {
		end[-1] = '\0';
		ret->module = tab + 2;
	}
	return true;
}

/* The linker's own symbols, include/asm-generic/sections.h. */
static void note_text(struct kernel_symbols *s, const struct kernel_symbol *symbol)
{
	if (*symbol->name != '_' || *symbol->module)
		return;
	if (!s->text_start && !strcmp(symbol->name, "_text"))
		s->text_start = symbol->start;
	else if (!strcmp(symbol->name, "_etext"))
		s->text_end = symbol->start;
}

static int compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return compare_numbers(x->start, y->start);
}

/* The index of the first symbol beyond the address. */
static size_t after(const struct kernel_symbols *s, size_t cnt, __u64 addr)
{
	return sorted_below(cnt, i, s->list[i].start <= addr);
}

/*
 * The first ones, nearly all, are the kernel's own and already in order. The rest, of modules and
 * BPF programs, goes after them or among their last.
 */
static void sort(struct kernel_symbols *s, size_t sorted)
{
	__u64 lowest = ~0ULL;
	size_t first;

	for (size_t i = sorted; i < s->cnt; i++)
		if (s->list[i].start < lowest)
			lowest = s->list[i].start;
	first = after(s, sorted, lowest);
	if (sorted < s->cnt)
		qsort(s->list + first, s->cnt - first, sizeof(*s->list), compare);
}

void kernel_symbols__own(void *symbols, __u64 start, __u32 size)
{
	struct kernel_symbols *s = symbols;
	size_t at = sorted_below(s->own_cnt, i, s->own[i].start <= start);

	if (vec_reserve(s->own, s->own_cap, s->own_cnt + 1))
		return;
	memmove(&s->own[at + 1], &s->own[at], (s->own_cnt++ - at) * sizeof(*s->own));
	s->own[at] = (struct own_code){ start, start + size };
}

static bool is_own(const struct kernel_symbols *s, __u64 addr)
{
	size_t low = sorted_below(s->own_cnt, i, s->own[i].start <= addr);

	return low && addr < s->own[low - 1].end;
}

bool kernel_symbols__is_own(struct kernel_symbols *s, __u64 addr)
{
	/* The tap must hear of it, too. */
	return is_own(s, addr) && kernel_symbols__find(s, addr);
}

/* Returns unused memory to the kernel. */
static void shrink(struct kernel_symbols *s, size_t names_size)
{
	char *text = realloc(s->text, names_size ? names_size : 1);
	struct symbol *list = s->cnt ? realloc(s->list, s->cnt * sizeof(*list)) : NULL;

	s->text = text ? text : s->text;
	s->cap = list ? s->cnt : s->cap;
	s->list = list ? list : s->list;
}

static void load(struct kernel_symbols *s)
{
	struct kernel_symbol symbol = { 0 };
	size_t sorted = 0; /* the first ones that are in order */
	ssize_t len;
	char *line, *end, *text_end, *names_end;

	if (s->loaded)
		return;
	s->loaded = true;
	len = read_text(s);
	if (len < 0)
		return;
	text_end = s->text + len;
	names_end = s->text;
	for (line = s->text; line < text_end; line = end + 1) {
		end = memchr(line, '\n', (size_t)(text_end - line));
		if (!end)
			end = text_end;
		*end = '\0';
		if (!parse_line(line, end, &symbol))
			continue;
		note_text(s, &symbol);
		if (*symbol.module && is_own(s, symbol.start))
			symbol.module = KERNEL_MODULE_OWN;
		if (sorted == s->cnt && (!s->cnt || s->list[s->cnt - 1].start <= symbol.start))
			sorted++;
		if (add(s, &symbol, &names_end))
			break;
	}
	sort(s, sorted);
	shrink(s, (size_t)(names_end - s->text));
}

void kernel_symbols__tap(struct kernel_symbols *s, kernel_tap_fn fn, void *ctx)
{
	s->tap = fn;
	s->tap_ctx = ctx;
}

int kernel_symbols__text(struct kernel_symbols *s, __u64 *ret_start, __u64 *ret_size)
{
	load(s);
	if (!s->text_start || s->text_end <= s->text_start)
		return -EACCES;
	*ret_start = s->text_start;
	*ret_size = s->text_end - s->text_start;
	return 0;
}

/* NULL: out of memory. */
static struct kernel_symbol *found(struct kernel_symbols *s, struct symbol *symbol)
{
	struct kernel_symbol *ret;

	if (symbol->found)
		return s->found[symbol->found - 1];
	if (vec_reserve(s->found, s->found_cap, s->found_cnt + 1))
		return NULL;
	ret = calloc(1, sizeof(*ret));
	if (!ret)
		return NULL;
	ret->start = symbol->start;
	ret->name = s->text + symbol->name;
	ret->module = ret->name + strlen(ret->name) + 1;
	s->found[s->found_cnt++] = ret;
	symbol->found = ret->number = (__u32)s->found_cnt;
	return ret;
}

struct kernel_symbol *kernel_symbols__find(struct kernel_symbols *s, __u64 addr)
{
	struct kernel_symbol *ret;
	size_t low;

	load(s);
	low = after(s, s->cnt, addr);
	/* If several symbols share an address, always the first. */
	while (low > 1 && s->list[low - 2].start == s->list[low - 1].start)
		low--;
	ret = low ? found(s, &s->list[low - 1]) : NULL;
	if (ret && s->tap)
		s->tap(s->tap_ctx, ret->start, ret->name, ret->module);
	return ret;
}
