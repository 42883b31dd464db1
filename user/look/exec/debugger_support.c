/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/exec/debugger_support.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "python/layout/py_offsets.h"

/* Offsets in the table: Include/internal/pycore_debug_offsets.h of v3.14.0 and v3.15.0. */
static const struct positions {
	unsigned minor;
	size_t table_size, interp_size, threads_main, thread_size;
	size_t support; /* six numbers, ordered as in struct numbers */
} minors[] = {
	{ 14, 760, 48, 80, 176, 712 },
	{ 15, 888, 48, 80, 176, 840 },
};

struct numbers {
	__u64 eval_breaker, support, enabled, pending_call, script_path, script_path_size;
};

static __u64 number_at(const __u8 *table, size_t position)
{
	__u64 value;

	memcpy(&value, table + position, sizeof(value));
	return value;
}

static const struct positions *find(__u32 version)
{
	for (size_t i = 0; i < sizeof(minors) / sizeof(minors[0]); i++)
		if (version >> 16 == (3U << 8 | minors[i].minor))
			return &minors[i];
	return NULL;
}

static int refuse_version(__u32 version, char *why, size_t size)
{
	char text[24];

	py_version_format(version, text, sizeof(text));
	if (version >> 16 < 0x030e)
		snprintf(why, size, "CPython %s takes no requests: that came with 3.14 (PEP 768)",
			 text);
	else if (find(version))
		snprintf(why, size, "CPython %s is a pre-release, whose layout may differ", text);
	else
		snprintf(why, size, "CPython %s is not known: krait knows 3.14 and 3.15", text);
	return -ENOTSUP;
}

static bool lies_in(__u64 offset, __u64 width, __u64 align, __u64 size)
{
	return !(offset % align) && offset < size && width <= size - offset;
}

static bool is_sane(const struct numbers *n, __u64 threads_main, __u64 interp_size,
		    __u64 thread_size)
{
	__u64 pending = n->support + n->pending_call, path = n->support + n->script_path;

	return interp_size <= 1U << 20 && thread_size <= 1U << 14 && n->support < thread_size &&
	       n->pending_call < thread_size && n->script_path < thread_size &&
	       lies_in(threads_main, 8, 8, interp_size) && lies_in(n->enabled, 4, 4, interp_size) &&
	       lies_in(n->eval_breaker, 8, 8, thread_size) && lies_in(pending, 4, 4, thread_size) &&
	       n->script_path_size >= 64 && n->script_path_size <= 4096 &&
	       lies_in(path, n->script_path_size, 1, thread_size) && pending + 4 <= path &&
	       (n->eval_breaker + 8 <= pending || n->eval_breaker >= path + n->script_path_size);
}

int debugger_support_parse(const void *table, size_t len, struct debugger_support *ret, char *why,
			   size_t why_size)
{
	const __u32 version = py_debug_table_version(table, len);
	const struct positions *p = find(version);
	struct numbers n;
	__u64 threads_main;

	/* Level f is a release (Include/patchlevel.h). */
	if (!p || (version >> 4 & 0xf) != 0xf)
		return refuse_version(version, why, why_size);
	if (len < p->table_size || !py_debug_table_has_cookie(table, len)) {
		snprintf(why, why_size, "its table of debug offsets is cut");
		return -ENODATA;
	}
	memcpy(&n, (const __u8 *)table + p->support, sizeof(n));
	threads_main = number_at(table, p->threads_main);
	if (!is_sane(&n, threads_main, number_at(table, p->interp_size),
		     number_at(table, p->thread_size))) {
		snprintf(why, why_size, "its table of debug offsets is malformed");
		return -ENODATA;
	}
	*ret = (struct debugger_support){
		.threads_main = (__u32)threads_main,
		.remote_debugging_enabled = (__u32)n.enabled,
		.eval_breaker = (__u32)n.eval_breaker,
		.pending_call = (__u32)(n.support + n.pending_call),
		.script_path = (__u32)(n.support + n.script_path),
		.script_path_size = (__u32)n.script_path_size,
	};
	return 0;
}
