/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_map.c - one pass over the nodes collects which function ran in which process. Sorted, these
 * are the files one after another.
 */
#include "capture/perfmap/perf_map.h"

#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/dso/dso_text.h"
#include "base/data/cleanup.h"
#include "base/data/compare.h"
#include "base/data/search.h"
#include "base/text/stream.h"

_Static_assert(DSO_BASE + DSO_TEXT_OFFSET == 0x100000001000ULL && DSO_SLOT == 4,
	       "PERF_MAP_FIRST_LINE names the first slot");

/* A place in Python code that ran in a process. */
struct met {
	int pid;
	__u64 address;
};

static int compare(const void *a, const void *b)
{
	const struct met *x = a, *y = b;

	return compare_numbers(x->pid, y->pid) ?: compare_numbers(x->address, y->address);
}

/* pids: by node; ret has room for one entry per node. Returns how many there are. */
static __u32 collect(struct dso *d, const struct dict *dict, int *pids, struct met *ret)
{
	__u32 cnt = 0;

	for (__u32 i = 1; i <= dict__node_cnt(dict); i++) {
		const struct profile_node *n = dict__node_at(dict, i);
		const struct profile_frame *f = dict__frame_at(dict, n->frame);

		pids[i] = f->kind == FRAME_PROCESS ? f->pid : pids[n->parent];
		if (f->kind != FRAME_PROCESS && f->kind != FRAME_THREAD && !f->address)
			ret[cnt++] = (struct met){ pids[i], dso__address(d, dict, n->frame) };
	}
	qsort(ret, cnt, sizeof(*ret), compare);
	return cnt;
}

/* Returns NULL for the function that stands for what had no room; every file has that one anyway. */
static const struct dso_function *find_function(const struct dso *d, __u64 address)
{
	__u32 generation = dso_generation(address);
	__u32 cnt, offset = (__u32)((address - DSO_BASE) % DSO_STRIDE);
	const struct dso_function *list;
	size_t before;

	if (!dso_has(address) || generation >= dso__generations(d))
		return NULL;
	list = dso__functions(d, generation, &cnt);
	before = sorted_below(cnt, i, list[i].offset <= offset);
	return before && (list[before - 1].code || list[before - 1].frame) ? &list[before - 1] :
									     NULL;
}

/*
 * A file in a folder that a shell reads is a script. Replaces active characters, except the
 * brackets in Python's own names such as "<module>:x.py" and "f.<locals>.g".
 */
static void remove_shell_syntax(char *name)
{
	for (char *s = name; *s; s++) {
		if (strchr("&|`$#;\\!*?~", *s) || (*s == '>' && s[1] && !strchr(":.", s[1])))
			*s = '_';
	}
}

/* Writes one process; its places are sorted, so those of a function are adjacent. */
static int write_one(FILE *out, const struct dso *d, const struct dict *dict,
		     const struct met *list, __u32 cnt)
{
	const struct dso_function *last = NULL, *f;
	__u16 opcode, last_opcode = 0;

	fputs(PERF_MAP_FIRST_LINE, out);
	for (__u32 i = 0; i < cnt; i++) {
		cleanup_free char *name = NULL;

		f = find_function(d, list[i].address);
		opcode = dso_opcode(list[i].address);
		if (!f || (f == last && opcode == last_opcode))
			continue;
		last = f;
		last_opcode = opcode;
		name = dso_symbol(dict, f);
		if (!name)
			return -ENOMEM;
		remove_shell_syntax(name);
		fprintf(out, "%llx %x %s\n",
			dso_start(f->generation) + opcode * DSO_OPCODE_STRIDE + f->offset,
			f->slot_cnt * DSO_SLOT, name);
	}
	return 0;
}

static int write_and_close(FILE *out, const struct dso *d, const struct dict *dict,
			   const struct met *list, __u32 cnt)
{
	int err = write_one(out, d, dict, list, cnt);

	if (!err)
		err = stream_finish(out);
	/* A reader would take half a line for a function: the file is left empty. */
	if (err) {
		__fpurge(out);
		(void)!ftruncate(fileno(out), 0);
	}
	fclose(out);
	return err;
}

int perf_maps_write(struct dso *d, const struct dict *dict, const struct perf_map_files *files)
{
	size_t nodes = (size_t)dict__node_cnt(dict) + 1;
	cleanup_free int *pids = calloc(nodes, sizeof(*pids));
	cleanup_free struct met *list = calloc(nodes, sizeof(*list));
	__u32 cnt, next;

	if (!pids || !list)
		return -ENOMEM;
	cnt = collect(d, dict, pids, list);
	for (__u32 i = 0; i < cnt; i = next) {
		FILE *out;
		int err;

		for (next = i + 1; next < cnt && list[next].pid == list[i].pid; next++)
			;
		out = files->open(files->ctx, list[i].pid);
		err = out ? write_and_close(out, d, dict, &list[i], next - i) : 0;
		if (err)
			files->failed(files->ctx, list[i].pid, err);
	}
	return 0;
}
