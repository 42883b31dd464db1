/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/core/core_python.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "process/elf/elf_runtime.h"
#include "python/layout/py_builtin_offsets.h"
#include "python/layout/py_offsets.h"
#include "python/layout/py_verify.h"

#define CHUNK 65536U
/* Limit on memory searched for a table. */
#define SCAN_MAX (2ULL << 30)

/* Takes the table at that address. Returns 0, or as py_offsets_parse() does. */
static int take_table(const struct core_file *c, __u64 addr, struct core_python *ret, char *why,
		      size_t why_size)
{
	__u8 table[PY_TABLE_MAX];
	struct py_offsets offsets;
	__u64 head = 0;
	int err = memory_read(&c->memory, addr, table, sizeof(table));

	if (!err)
		err = py_offsets_parse(table, sizeof(table), &offsets, why, why_size);
	if (err)
		return err;
	ret->runtime_addr = addr;
	ret->version = offsets.version;
	if (memory_read(&c->memory, addr + (__u64)offsets.runtime.interpreters_head, &head, 8) ||
	    !head) {
		snprintf(why, why_size, "its interpreter has not begun to run");
		return -ENOEXEC;
	}
	return 0;
}

/* For a version that publishes no table: krait's own offsets, if the core confirms them. */
static int take_builtin(const struct core_file *c, const struct elf_runtime *elf, __u64 addr,
			struct core_python *ret, char *why, size_t why_size)
{
	const struct py_offsets *o = elf->py_version >> 24 == 3 ?
					     py_builtin_offsets_find(elf->py_version >> 16 & 0xff) :
					     NULL;
	char version[24] = "of unknown version", what[96] = "";
	int err;

	if (elf->py_version)
		py_version_format(elf->py_version, version, sizeof(version));
	err = o ? py_verify(&c->memory, o, addr, what, sizeof(what)) : -ENOTSUP;
	if (err) {
		snprintf(why, why_size, "CPython %s: %s", version,
			 o ? (*what ? what : "its interpreter has not begun to run") :
			     "krait does not know its layout");
		return -ENOTSUP;
	}
	ret->version = elf->py_version;
	ret->runtime_addr = addr;
	return 0;
}

static int try_file(const struct core_file *c, const struct core_mapped *f, struct core_python *ret,
		    char *why, size_t why_size)
{
	struct elf_runtime elf;
	__u64 addr;
	__u8 live[8];
	int err = f->fd < 0 ? -ENOENT : elf_runtime_read(f->fd, &elf);

	if (err)
		return -ENOENT;
	snprintf(ret->file, sizeof(ret->file), "%s", f->name);
	ret->alone = elf.alone;
	addr = elf_runtime_addr(&elf, f->base);
	if (addr % 8 || memory_read(&c->memory, addr, live, sizeof(live))) {
		snprintf(why, why_size, "the memory of its runtime is not in the core");
		return -ENOEXEC;
	}
	if (py_debug_table_has_cookie(live, sizeof(live)))
		return take_table(c, addr, ret, why, why_size);
	return take_builtin(c, &elf, addr, ret, why, why_size);
}

/* Tries files whose names fit first: there may be hundreds of others. */
static int try_files(const struct core_file *c, struct core_python *ret, char *why, size_t why_size)
{
	int result = -ENOENT;

	for (int named = 1; named >= 0; named--) {
		for (__u32 i = 0; i < c->file_cnt; i++) {
			const char *slash = strrchr(c->files[i].name, '/');
			int err;

			if ((slash && strstr(slash, "python")) != named)
				continue;
			err = try_file(c, &c->files[i], ret, why, why_size);
			if (!err)
				return 0;
			result = err == -ENOENT ? result : err;
		}
	}
	return result;
}

static int scan_segment(const struct core_file *c, const struct core_segment *s,
			struct core_python *ret, char *why, size_t why_size)
{
	__u8 chunk[CHUNK];

	for (__u64 at = 0; at < s->file_size; at += sizeof(chunk)) {
		size_t len = s->file_size - at < sizeof(chunk) ? (size_t)(s->file_size - at) :
								 sizeof(chunk);

		if (memory_read(&c->memory, s->start + at, chunk, len))
			return -ENOENT;
		for (size_t pos = 0; pos + 16 <= len; pos += 8)
			if (py_debug_table_has_cookie(chunk + pos, len - pos) &&
			    !take_table(c, s->start + at + pos, ret, why, why_size))
				return 0;
	}
	return -ENOENT;
}

static int scan(const struct core_file *c, struct core_python *ret, char *why, size_t why_size)
{
	__u64 left = SCAN_MAX;

	*ret->file = '\0';
	for (__u32 i = 0; i < c->segment_cnt; i++) {
		const struct core_segment *s = &c->segments[i];

		if (!s->writable || s->file_size > left)
			continue;
		left -= s->file_size;
		if (!scan_segment(c, s, ret, why, why_size))
			return 0;
	}
	return -ENOENT;
}

int core_python_find(const struct core_file *c, struct core_python *ret, char *why, size_t why_size)
{
	char other[256];
	int err;

	*ret = (struct core_python){ .runtime_addr = 0 };
	*why = '\0';
	err = try_files(c, ret, why, why_size);
	if (!err || !scan(c, ret, other, sizeof(other)))
		return 0;
	if (!*why)
		snprintf(
			why, why_size,
			"no Python is found in it: its executable and libraries have changed or are missing, and "
			"memory alone does not identify a Python before 3.13");
	return err == -ENOENT ? -ENOEXEC : err;
}
