/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/dwarf_halves.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

/* Longer paths are not accepted; the kernel's limit is only a little higher. */
#define PATH_LEN_MAX 3900
/* All halves together that are open when one more is opened. */
#define HALVES_BYTES_MAX (64U << 20)

void dwarf_halves_begin(struct dwarf_halves *h)
{
	*h = (struct dwarf_halves){ .package.fd = -1 };
	for (unsigned i = 0; i < DWARF_HALVES_MAX; i++)
		h->list[i].file.fd = -1;
}

static void close_half(struct dwarf_half *half)
{
	dwarf_split__free(half->split);
	dwo_file_close(&half->file);
	half->split = NULL;
}

void dwarf_halves_free(struct dwarf_halves *h)
{
	for (unsigned i = 0; i < DWARF_HALVES_MAX; i++)
		close_half(&h->list[i]);
	dwo_file_close(&h->package);
}

/* A free place: closes the least recently used ones. */
static struct dwarf_half *make_room(struct dwarf_halves *h)
{
	for (;;) {
		struct dwarf_half *oldest = NULL, *place = NULL;
		size_t bytes = 0;

		for (unsigned i = 0; i < DWARF_HALVES_MAX; i++) {
			struct dwarf_half *half = &h->list[i];

			if (!half->split) {
				place = half;
				continue;
			}
			bytes += dwarf_split__bytes(half->split);
			if (!oldest || half->used < oldest->used)
				oldest = half;
		}
		if (!oldest || (place && bytes <= HALVES_BYTES_MAX))
			return place;
		close_half(oldest);
	}
}

/* fd -1: from the package. */
static int open_half(struct dwarf_halves *h, size_t unit, Dwarf_Die *skeleton, __u64 id, int fd)
{
	struct dwarf_half *half = make_room(h);
	int err = fd < 0 ? 0 : dwo_file_open(&half->file, fd);

	if (!err)
		err = dwarf_split__new(&half->split, fd < 0 ? &h->package : &half->file, skeleton,
				       id);
	if (err) {
		dwo_file_close(&half->file);
		half->split = NULL;
		return err;
	}
	half->unit = unit;
	half->used = ++h->now;
	return 0;
}

int dwarf_halves_add_package(struct dwarf_halves *h, int fd)
{
	if (h->package_said)
		return -EEXIST;
	h->package_said = true;
	return fd < 0 ? 0 : dwo_file_open(&h->package, fd);
}

int dwarf_halves_add(struct dwarf_halves *h, size_t unit, Dwarf_Die *skeleton, __u64 id, int fd)
{
	return fd < 0 ? -EBADF : open_half(h, unit, skeleton, id, fd);
}

static struct dwarf_split *find(struct dwarf_halves *h, size_t unit)
{
	for (unsigned i = 0; i < DWARF_HALVES_MAX; i++) {
		struct dwarf_half *half = &h->list[i];

		if (half->split && half->unit == unit) {
			half->used = ++h->now;
			return half->split;
		}
	}
	return NULL;
}

static const char *path_of(Dwarf_Attribute *at)
{
	const char *path = dwarf_formstring(at);

	return path && *path && strnlen(path, PATH_LEN_MAX + 1) <= PATH_LEN_MAX ? path : NULL;
}

static void want(Dwarf_Die *skeleton, __u64 id, struct dwarf_wanted *ret)
{
	Dwarf_Attribute at;

	if (!dwarf_attr(skeleton, DW_AT_dwo_name, &at) &&
	    !dwarf_attr(skeleton, DW_AT_GNU_dwo_name, &at))
		return;
	ret->name = path_of(&at);
	if (!ret->name)
		return;
	ret->what = DWARF_WANT_HALF;
	ret->id = id;
	if (dwarf_attr(skeleton, DW_AT_comp_dir, &at))
		ret->folder = path_of(&at);
}

struct dwarf_split *dwarf_halves_get(struct dwarf_halves *h, size_t unit, Dwarf_Die *skeleton,
				     __u64 id, struct dwarf_wanted *ret)
{
	struct dwarf_split *split = find(h, unit);

	*ret = (struct dwarf_wanted){ .what = DWARF_WANT_NOTHING };
	if (split)
		return split;
	if (!h->package_said) {
		ret->what = DWARF_WANT_PACKAGE;
		return NULL;
	}
	if (h->package.fd >= 0 && !open_half(h, unit, skeleton, id, -1))
		return find(h, unit);
	want(skeleton, id, ret);
	return NULL;
}
