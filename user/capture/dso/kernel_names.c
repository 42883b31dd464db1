/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/dso/kernel_names.h"
#include "base/data/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORD "kernel "

void kernel_names_free(struct kernel_names *k)
{
	for (__u32 i = 0; i < k->cnt; i++) {
		free(k->list[i].name);
		free(k->list[i].module);
	}
	free(k->list);
	idindex_free(&k->index);
	*k = (struct kernel_names){ 0 };
}

static __u32 hash_of(__u64 address)
{
	return idindex_hash_pair((__u32)(address >> 32), (__u32)address);
}

const struct kernel_name *kernel_names_find(const struct kernel_names *k, __u64 address)
{
	const struct idindex_slot *slot;

	idindex_for_each(&k->index, hash_of(address), slot) {
		if (k->list[slot->id - 1].address == address)
			return &k->list[slot->id - 1];
	}
	return NULL;
}

static int reserve(struct kernel_names *k)
{
	if (vec_reserve(k->list, k->cap, k->cnt + 1))
		return -ENOMEM;
	return idindex_reserve(&k->index);
}

int kernel_names_add(struct kernel_names *k, __u64 address, const char *name, const char *module)
{
	struct kernel_name *new;

	if (k->cnt == KERNEL_NAMES_MAX || kernel_names_find(k, address))
		return 0;
	if (reserve(k))
		return -ENOMEM;
	new = &k->list[k->cnt];
	*new = (struct kernel_name){ address, strdup(name), strdup(module) };
	if (!new->name || !new->module) {
		free(new->name);
		free(new->module);
		return -ENOMEM;
	}
	idindex_insert(&k->index, hash_of(address), ++k->cnt);
	return 0;
}

/* In kallsyms both are single words; a line must not become two. */
static bool is_word(const char *text)
{
	return *text && !strpbrk(text, " \t\r\n");
}

void kernel_names_write(const struct kernel_names *k, FILE *out)
{
	for (__u32 i = 0; i < k->cnt; i++) {
		const struct kernel_name *n = &k->list[i];

		if (is_word(n->name) && is_word(n->module))
			fprintf(out, WORD "%llx %s %s\n", n->address, n->module, n->name);
	}
}

const char *kernel_names_part(const char *notes)
{
	const char *at = notes;

	while (*at && strncmp(at, WORD, strlen(WORD)) != 0) {
		at = strchrnul(at, '\n');
		at += *at == '\n';
	}
	return at;
}

static int read_line(struct kernel_names *k, char *line)
{
	char *end, *module, *name;
	__u64 address = strtoull(line + strlen(WORD), &end, 16);

	if (*end != ' ' || !(address >> 63))
		return 0;
	module = end + 1;
	name = strchr(module, ' ');
	if (!name)
		return 0;
	*name++ = '\0';
	return is_word(module) && is_word(name) ? kernel_names_add(k, address, name, module) : 0;
}

int kernel_names_read(struct kernel_names *k, const char *notes)
{
	char *copy = strdup(kernel_names_part(notes)), *line, *rest;
	int err = copy ? 0 : -ENOMEM;

	for (line = copy ? strtok_r(copy, "\n", &rest) : NULL; line && !err;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (!strncmp(line, WORD, strlen(WORD)))
			err = read_line(k, line);
	}
	free(copy);
	return err;
}
