/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/identify/identify.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process/identify/elf_cache.h"
#include "process/parser/elf_facts.h"
#include "process/memory/mapped_image.h"
#include "python/layout/py_offsets.h"
#include "process/memory/remote.h"
#include "process/identify/unpublished.h"
#include "base/data/cleanup.h"
#include "base/data/memory.h"

/*
 * Bytes of a process that a scan reads. An interpreter's data has 1 to 8 MiB and lies near the
 * beginning of its mappings.
 */
#define SCAN_MAX (64U << 20)
#define SCAN_CHUNK 16384

/* One copy of the runtime. */
struct copy {
	__u64 addr;
	__u64 map_start, map_end; /* as in struct py_process */
	const char *file;
	enum py_build build;
	bool debug;
	const struct elf_runtime *elf; /* from the file; NULL: known only from memory */
};

/* The memory, opened on first use; NULL and errno on failure. */
static const struct memory *memory_of(struct identify *s)
{
	if (!s->remote)
		s->remote = remote__open_at(s->dir, s->found->dumpable);
	return s->remote ? remote__memory(s->remote) : NULL;
}

static int live_read(struct identify *s, __u64 addr, void *buf, size_t len)
{
	const struct memory *memory = memory_of(s);

	return memory ? memory_read(memory, addr, buf, len) : -errno;
}

/* How informative a result is. A less informative one does not replace what we have. */
static int weight(int result, bool initialised)
{
	switch (result) {
	case 0:
		return initialised ? 5 : 4;
	case -ENOTSUP:
	case -EAGAIN:
	case -EINPROGRESS:
		return 3;
	case -ENODATA:
		return 2;
	case -EACCES:
		return 1;
	default:
		return 0;
	}
}

static void propose(struct identify *s, int result, bool initialised, const struct copy *copy,
		    const struct py_offsets *offsets, const char *why)
{
	struct py_process *p = s->found;

	if (weight(result, initialised) <= weight(s->result, p->initialised))
		return;
	s->result = result;
	s->done = result == 0 && initialised;
	p->runtime_addr = copy->addr;
	p->initialised = initialised;
	p->build = copy->build;
	p->debug = copy->debug;
	p->map_start = copy->map_start;
	p->map_end = copy->map_end;
	p->version = s->version;
	p->source = s->source;
	p->of_file = copy->elf && copy->elf->id.ino && s->source != PY_SOURCE_DWARF;
	p->file_id = (struct file_id){ 0 };
	p->alone = !copy->elf || copy->elf->alone;
	if (copy->elf) {
		p->file_id = copy->elf->id;
		p->code_delta = copy->elf->runtime_vaddr - copy->elf->code_vaddr;
		p->entry_cnt = copy->elf->entry_cnt <= ELF_ENTRIES_MAX ? copy->elf->entry_cnt : 0;
		memcpy(p->entries, copy->elf->entries, sizeof(p->entries));
	}
	snprintf(p->file, sizeof(p->file), "%s", copy->file);
	snprintf(p->why, sizeof(p->why), "%s", why);
	p->file_remote = s->file_remote;
	if (s->found_file >= 0)
		close(s->found_file);
	s->found_file = s->file >= 0 ? fcntl(s->file, F_DUPFD_CLOEXEC, 0) : -1;
	p->anchors_why[0] = '\0';
	if (!offsets)
		return;
	p->offsets = *offsets;
	snprintf(p->anchors_why, sizeof(p->anchors_why), "%s",
		 py_offsets_anchors_why(offsets, p->of_file));
}

/* Examines a copy without a table. */
static void inspect_unpublished(struct identify *s, const struct copy *copy,
				const struct elf_runtime *elf)
{
	char path[32], root[32], version[32] = "older than 3.8", why[256];
	struct unpublished u = {
		.elf = elf,
		.runtime_addr = copy->addr,
		.path = path,
		.root = root,
		.jobs = elf_cache__dwarf_jobs(s->cache),
		.uid = s->found->payer,
	};
	int r;

	u.memory = memory_of(s);
	if (!u.memory) {
		if (errno == EACCES)
			propose(s, -EACCES, false, copy, NULL, "");
		return;
	}
	snprintf(root, sizeof(root), "/proc/%d/root", (int)s->found->pid);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->file);
	if (elf->py_version)
		py_version_format(elf->py_version, version, sizeof(version));
	r = unpublished_find(&u);
	s->version = elf->py_version;
	s->source = r ? PY_SOURCE_NONE : u.source;
	if (!r) {
		/*
		 * Debug information may be of this process's own making: it proves nothing about
		 * others.
		 */
		if (!elf->proved_by && u.source == PY_SOURCE_TABLE)
			elf_cache__keep(s->cache, elf, &u.offsets, u.source);
		propose(s, 0, u.initialised, copy, &u.offsets, "");
	} else if (r == -EAGAIN) {
		snprintf(why, sizeof(why), "CPython %s (%.120s) has not begun to run", version,
			 copy->file);
		propose(s, -EAGAIN, false, copy, NULL, why);
	} else if (r == -EPERM || r == -EACCES) {
		propose(s, -EACCES, false, copy, NULL, "");
	} else if (r == -ENOTSUP || r == -EINPROGRESS) {
		snprintf(why, sizeof(why), "CPython %.20s (%.80s): %.140s", version, copy->file,
			 u.why);
		propose(s, r, false, copy, NULL, why);
	}
}

/*
 * Examines a copy that has a table. The file's table is the one to parse: a process controls what
 * is in its memory, so that is used only if no file has the table, and only for that process.
 * Returns 0 even if it is refused; -errno if there is nothing to look at.
 */
static int inspect_copy(struct identify *s, const struct copy *copy, const __u8 *live)
{
	const __u8 *table = copy->elf ? copy->elf->table : live;
	size_t len = copy->elf ? copy->elf->table_len : PY_TABLE_MAX;
	struct py_offsets offsets;
	char what[160], why[256];
	__u64 head = 0;
	int r = py_offsets_parse(table, len, &offsets, what, sizeof(what));

	if (r == -ENOEXEC)
		return r;
	s->version = py_debug_table_version(table, len);
	s->source = r ? PY_SOURCE_NONE : PY_SOURCE_PUBLISHED;
	if (r) {
		snprintf(why, sizeof(why), "%.80s: %s", copy->file, what);
		propose(s, r, false, copy, NULL, why);
		return 0;
	}
	r = live_read(s, copy->addr + (__u64)offsets.runtime.interpreters_head, &head,
		      sizeof(head));
	if (r)
		return r;
	propose(s, 0, head != 0, copy, &offsets, "");
	return 0;
}

/*
 * Nothing writes to the table while a program runs: a different one is another runtime, or a
 * forgery.
 */
static bool is_table_of_file(const struct elf_runtime *elf, const __u8 *live)
{
	return !memcmp(elf->table, live, py_debug_table_size(elf->table, elf->table_len));
}

void identify_mapped(struct identify *s, const struct maps_line *m, const struct elf_runtime *elf,
		     enum py_build build)
{
	bool has_table = py_debug_table_has_cookie(elf->table, elf->table_len);
	struct copy copy = {
		.addr = elf_runtime_addr(elf, m->start),
		.map_start = m->start,
		.map_end = m->end,
		.file = m->path,
		.build = build,
		.debug = elf->debug,
		.elf = elf,
	};
	__u8 table[PY_TABLE_MAX];
	int r;

	if (elf->table_len && !has_table && !(copy.addr % 8)) {
		inspect_unpublished(s, &copy, elf);
		return;
	}
	r = copy.addr % 8 ? -EFAULT : live_read(s, copy.addr, table, sizeof(table));
	if (r == -EPERM || r == -EACCES)
		propose(s, -EACCES, false, &copy, NULL, "");
	if (r == -EFAULT && has_table) {
		/* Not loaded yet, or withheld from us (userfaultfd): it may come. */
		s->version = py_debug_table_version(elf->table, elf->table_len);
		s->source = PY_SOURCE_NONE;
		propose(s, -EAGAIN, false, &copy, NULL,
			"the memory of its Python runtime cannot be read");
	}
	if (r)
		return; /* or gone: search() tells which */
	if (!py_debug_table_has_cookie(table, sizeof(table))) {
		if (!has_table)
			inspect_unpublished(s, &copy, elf);
		return;
	}
	if (!has_table)
		copy.elf = NULL; /* the file has no room for it: a copy in .bss */
	s->version = py_debug_table_version(has_table ? elf->table : table, PY_TABLE_MAX);
	s->source = PY_SOURCE_NONE;
	if (has_table && !is_table_of_file(elf, table))
		propose(s, -ENODATA, false, &copy, NULL,
			"the runtime in its memory is not the one in its file");
	else if (inspect_copy(s, &copy, table) == -ENOEXEC)
		propose(s, -ENODATA, false, &copy, NULL, "its debug offsets make no sense");
}

void identify_second(struct identify *s, const struct maps_line *m, const struct elf_runtime *elf,
		     enum py_build build)
{
	struct py_process *p = s->found, other = {
		.pid = p->pid,
		.dumpable = p->dumpable,
		.payer = p->payer,
	};
	struct identify second = {
		.cache = s->cache,
		.found = &other,
		.result = -ENOEXEC,
		.dir = s->dir,
		.remote = s->remote,
		.file = s->file,
		.found_file = -1,
	};
	char version[24];

	identify_mapped(&second, m, elf, build);
	s->remote = second.remote;
	cleanup_close_(&second.found_file);
	if (!second.done || other.runtime_addr == p->runtime_addr)
		return;
	py_version_format(other.version, version, sizeof(version));
	snprintf(p->second, sizeof(p->second), "CPython %.20s (%.120s)", version, other.file);
}

/* ---- files that could not be opened ------------------------------------------------------------ */

/* The one whose beginning is mapped there. */
static int examine_unopened(struct identify *s, const struct maps_line *m, __u64 *budget)
{
	const struct memory *memory = memory_of(s);
	struct elf_runtime elf;
	char exe[PATH_MAX] = "";
	int r;

	if (!memory)
		return -errno;
	s->file = mapped_image(s->dir, memory, m->start, budget);
	if (s->file < 0)
		return s->file;
	r = elf_facts__read_image(elf_cache__facts(s->cache), s->file, &elf);
	if (!r) {
		/* What the memory says holds for this process only. */
		elf.id = (struct file_id){ 0 };
		s->file_remote = true;
		if (readlinkat(s->dir, "exe", exe, sizeof(exe) - 1) < 0)
			exe[0] = '\0';
		identify_mapped(s, m, &elf, strcmp(exe, m->path) ? PY_BUILD_SHARED : PY_BUILD_EXE);
	}
	close(s->file);
	s->file = -1;
	return r;
}

static bool was_unopened(const struct identify *s, __u64 start)
{
	for (unsigned i = 0; i < s->unopened && i < IDENTIFY_UNOPENED_MAX; i++)
		if (s->unopened_at[i] == start)
			return true;
	return false;
}

int identify_unopened(struct identify *s)
{
	cleanup_maps struct maps maps;
	__u64 budget = MAPPED_IMAGE_MAX;
	struct maps_line m;
	int r = maps_open_at(&maps, s->dir);

	while (!r && !s->done && (r = maps_next(&maps, &m)) > 0) {
		r = was_unopened(s, m.start) ? examine_unopened(s, &m, &budget) : 0;
		if (r == -ESRCH || r == -EPERM || r == -EACCES)
			return r == -ESRCH ? r : -EACCES;
		r = 0;
	}
	return r;
}

/* ---- without files ----------------------------------------------------------------------------- */

/* Searches [start, end) for the cookie. */
static int scan_range(struct identify *s, const struct maps_line *m, const char *file,
		      __u64 *budget)
{
	__u8 chunk[SCAN_CHUNK], table[PY_TABLE_MAX];

	for (__u64 addr = m->start; addr < m->end && *budget && !s->done;) {
		size_t len = m->end - addr < sizeof(chunk) ? (size_t)(m->end - addr) :
							     sizeof(chunk);
		int r = live_read(s, addr, chunk, len);

		*budget -= len < *budget ? len : *budget;
		if (r == -EFAULT)
			return 0;
		if (r)
			return r;
		for (size_t pos = 0; pos + 8 <= len && !s->done; pos += 8) {
			struct copy copy = { .addr = addr + pos, .file = file };

			/* These eight bytes can be just a string: a version must follow. */
			if (py_debug_table_has_cookie(chunk + pos, len - pos) &&
			    !live_read(s, copy.addr, table, sizeof(table)) &&
			    py_debug_table_version(table, sizeof(table)) >> 24 == 3)
				(void)inspect_copy(s, &copy, table);
		}
		addr += len;
	}
	return 0;
}

int identify_scan(struct identify *s)
{
	cleanup_maps struct maps maps;
	char file[256] = "";
	__u64 budget = SCAN_MAX, end = 0;
	struct maps_line m;
	int r = maps_open_at(&maps, s->dir);

	while (!r && budget && !s->done && (r = maps_next(&maps, &m)) > 0) {
		r = 0;
		if (m.inode && *m.path == '/')
			snprintf(file, sizeof(file), "%s", m.path);
		else if (m.inode || *m.path || m.start != end)
			continue;
		/* A file's mapping, or the anonymous rest of its data right behind it. */
		end = m.end;
		if ((m.prot & (MAPPING_READ | MAPPING_WRITE | MAPPING_SHARED)) ==
		    (MAPPING_READ | MAPPING_WRITE))
			r = scan_range(s, &m, file, &budget);
	}
	return r == -EPERM ? -EACCES : r;
}
