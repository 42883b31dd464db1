/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/import/inject.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/vec.h"
#include "capture/import/taken_stacks.h"
#include "capture/perfdata/perf_reader.h"
#include "capture/perfdata/perf_writer.h"
#include "capture/perfdata/write_features.h"
#include "process/space/mapping.h"

#define RECORD_MAX 0xfff8
/* Behind it perf puts what it unwinds at the return to user mode (Linux 6.19). */
#define CONTEXT_USER_DEFERRED ((__u64)-640)

void inject_free(struct inject *i)
{
	free(i->told);
	i->told = NULL;
}

/* ---- krait's libraries ------------------------------------------------------------------------ */

/* The id fields at the end of what is not a sample. */
static size_t trailer_size(const struct perf_read_event *first)
{
	const __u64 type = first->has_trailer ? first->sample_type : 0;
	const __u64 fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			     PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

	return (size_t)__builtin_popcountll(type & fields) * sizeof(__u64);
}

/* trailer: NULL: all zero, which perf takes for "at once". */
static void put_library(struct bytes *to, int pid, const struct taken_library *l, const char *path,
			const void *trailer, size_t size)
{
	const struct mapping at = { l->start, l->start + l->size, 0, { NULL } };
	const struct perf_object object = { path, l->build_id };
	const size_t start = to->len;

	bytes_u32(to, PERF_RECORD_MMAP2);
	bytes_u16(to, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID);
	bytes_u16(to, 0);
	perf_mapping_put(to, pid, &at, &object);
	bytes_align(to, 8);
	if (trailer)
		bytes_put(to, trailer, size);
	else
		bytes_fill(to, 0, size);
	bytes_patch_u16(to, start + offsetof(struct perf_event_header, size),
			(__u16)(to->len - start));
}

static bool is_told(const struct inject *i, int pid)
{
	unsigned from = 0, to = i->told_cnt;

	while (from < to) {
		unsigned middle = from + (to - from) / 2;

		if (i->told[middle] < pid)
			from = middle + 1;
		else
			to = middle;
	}
	return from < i->told_cnt && i->told[from] == pid;
}

static int note_told(struct inject *i, int pid)
{
	unsigned at = i->told_cnt;

	if (is_told(i, pid))
		return 0;
	if (vec_reserve(i->told, i->told_cap, i->told_cnt + 1))
		return -ENOMEM;
	for (; at && i->told[at - 1] > pid; at--)
		i->told[at] = i->told[at - 1];
	i->told[at] = pid;
	i->told_cnt++;
	return 0;
}

/* At the same time as the record, if its trailer is given. */
static int tell(struct inject *i, int pid, const struct perf_reader *reader, const void *trailer,
		struct bytes *to)
{
	unsigned cnt, event_cnt;
	const struct taken_library *list = taken_stacks__libraries(i->stacks, &cnt);
	const size_t size = trailer_size(perf_reader__events(reader, &event_cnt));

	for (unsigned k = 0; k < cnt; k++) {
		const char *path = i->library(i->ctx, list[k].path, list[k].build_id,
					      sizeof(list[k].build_id));

		if (path)
			put_library(to, pid, &list[k], path, trailer, size);
	}
	return note_told(i, pid);
}

/* A process has begun, or has a new image: its libraries follow the record, at the same time. */
static int edit_begin(struct inject *i, const struct perf_reader *reader, const struct perf_read *r,
		      int pid, struct bytes *to)
{
	unsigned cnt;
	const size_t size = trailer_size(perf_reader__events(reader, &cnt));
	int err;

	if (!taken_stacks__has(i->stacks, pid) ||
	    r->raw_size < sizeof(struct perf_event_header) + size)
		return 0;
	bytes_put(to, r->raw, r->raw_size);
	err = tell(i, pid, reader, (const char *)r->raw + r->raw_size - size, to);
	return err ? err : 1;
}

void inject_add_build_ids(const struct inject *i, struct bytes *to)
{
	unsigned cnt;
	const struct taken_library *list = taken_stacks__libraries(i->stacks, &cnt);

	for (unsigned k = 0; k < cnt; k++) {
		const struct perf_object object = { i->library(i->ctx, list[k].path,
							       list[k].build_id,
							       sizeof(list[k].build_id)),
						    list[k].build_id };

		if (object.path)
			perf_build_id_put(to, &object);
	}
}

/* ---- samples ---------------------------------------------------------------------------------- */

/* Bytes of a sample. */
struct cut {
	const __u8 *at, *end;
	bool ok;
};

static const void *take(struct cut *c, __u64 size)
{
	const void *at = c->at;

	if (!c->ok || size > (__u64)(c->end - c->at)) {
		c->ok = false;
		return NULL;
	}
	c->at += size;
	return at;
}

static __u64 take_u64(struct cut *c)
{
	const void *p = take(c, sizeof(__u64));
	__u64 value = 0;

	if (p)
		memcpy(&value, p, sizeof(value));
	return value;
}

/* PERF_SAMPLE_BRANCH_COUNTERS of newer kernels: a word for each branch. */
#define BRANCH_COUNTERS (1U << 19)

static void skip_branches(struct cut *c, __u64 type)
{
	const __u64 cnt = take_u64(c);

	if (type & PERF_SAMPLE_BRANCH_HW_INDEX)
		take_u64(c);
	if (cnt > RECORD_MAX)
		c->ok = false;
	else
		take(c, cnt * (type & BRANCH_COUNTERS ? 32 : 24));
}

/* Puts what follows the chain, without the copy of the stack. False: it is malformed. */
static bool put_rest(struct bytes *to, const struct perf_read_event *e, const __u8 *rest,
		     const __u8 *end)
{
	struct cut c = { rest, end, true };
	__u32 raw = 0;

	if (!(e->sample_type & PERF_SAMPLE_STACK_USER)) {
		bytes_put(to, rest, (size_t)(end - rest));
		return true;
	}
	if (e->sample_type & PERF_SAMPLE_RAW) {
		const void *p = take(&c, sizeof(raw));

		if (p)
			memcpy(&raw, p, sizeof(raw));
		take(&c, raw);
	}
	if (e->sample_type & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(&c, e->branch_type);
	if (e->sample_type & PERF_SAMPLE_REGS_USER && take_u64(&c))
		take(&c, (__u64)__builtin_popcountll(e->user_regs) * sizeof(__u64));
	bytes_put(to, rest, (size_t)(c.at - rest));
	raw = (__u32)take_u64(&c);
	if (raw) {
		take(&c, raw);
		take_u64(&c); /* how much of it was valid */
	}
	bytes_u64(to, 0);
	bytes_put(to, c.at, (size_t)(c.end - c.at));
	return c.ok;
}

static __u64 chain_word(const struct perf_read *r, unsigned k)
{
	__u64 value;

	memcpy(&value, (const char *)r->chain + k * sizeof(value), sizeof(value));
	return value;
}

/* Entries of the kernel's part. */
static unsigned kernel_part(const struct perf_read *r)
{
	unsigned cnt = 0;

	while (cnt < r->chain_cnt && chain_word(r, cnt) != (__u64)PERF_CONTEXT_USER &&
	       chain_word(r, cnt) != CONTEXT_USER_DEFERRED)
		cnt++;
	/* Without a marker of the kernel's they are user mode's all the same. */
	return cnt && chain_word(r, 0) == (__u64)PERF_CONTEXT_KERNEL ? cnt : 0;
}

/* The sample with that stack. False: it does not fit, or is malformed. */
static bool put_sample(struct bytes *to, const struct perf_read_event *e, const struct perf_read *r,
		       const struct taken_stack *stack)
{
	const __u8 *raw = r->raw, *chain = (const __u8 *)r->chain;
	const unsigned kernel = kernel_part(r);
	const __u64 cnt = kernel + 1 + stack->cnt;
	const size_t start = to->len;
	struct perf_event_header header;
	size_t size;

	memcpy(&header, raw, sizeof(header));
	bytes_put(to, raw, (size_t)(chain - raw) - sizeof(__u64));
	bytes_u64(to, cnt);
	bytes_put(to, chain, kernel * sizeof(__u64));
	bytes_u64(to, (__u64)PERF_CONTEXT_USER);
	bytes_put(to, stack->list, stack->cnt * sizeof(__u64));
	if (!put_rest(to, e, chain + r->chain_cnt * sizeof(__u64), raw + r->raw_size))
		return false;
	size = to->len - start;
	if (to->failed || size > RECORD_MAX)
		return false;
	bytes_patch_u16(to, start + offsetof(struct perf_event_header, size), (__u16)size);
	if ((header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER &&
	    e->sample_type & PERF_SAMPLE_IP)
		memcpy(to->data + start + sizeof(header) +
			       (e->sample_type & PERF_SAMPLE_IDENTIFIER ? sizeof(__u64) : 0),
		       stack->list, sizeof(__u64));
	return true;
}

/* The sample stays as it is: says why. */
static int leave(struct inject *i, const struct perf_read *r, enum taken_found found)
{
	if (found == TAKEN_SEVERAL)
		i->stats.unclear++;
	else if (taken_stacks__are_after(i->stacks, r->pid, r->time_ns))
		i->stats.before++;
	else if (taken_stacks__are_before(i->stacks, r->pid, r->time_ns))
		i->stats.after++;
	return 0;
}

static int edit_sample(struct inject *i, const struct perf_reader *reader,
		       const struct perf_read *r, struct bytes *to)
{
	unsigned event_cnt;
	const struct perf_read_event *e = perf_reader__events(reader, &event_cnt) + r->event;
	struct taken_stack stack;
	enum taken_found found;
	size_t told;
	int err;

	if (!taken_stacks__has(i->stacks, r->pid)) {
		i->stats.others++;
		return 0;
	}
	i->stats.samples++;
	found = taken_stacks__find(i->stacks, r->tid, r->time_ns, &stack);
	if (found != TAKEN_FOUND)
		return leave(i, r, found);
	i->stats.matched++;
	if (!stack.has_python)
		return 0;
	if (!r->chain) {
		i->stats.chainless++;
		return 0;
	}
	err = is_told(i, r->pid) ? 0 : tell(i, r->pid, reader, NULL, to);
	if (err)
		return err;
	told = to->len;
	if (put_sample(to, e, r, &stack)) {
		i->stats.python++;
		return 1;
	}
	i->stats.too_large++;
	if (to->failed)
		return -ENOMEM;
	to->len = told;
	bytes_put(to, r->raw, r->raw_size);
	return 1;
}

int inject_edit(struct inject *i, const struct perf_reader *reader, const struct perf_read *r,
		struct bytes *to)
{
	struct perf_event_header header;

	memcpy(&header, r->raw, sizeof(header));
	if (r->kind == PERF_READ_SAMPLE)
		return edit_sample(i, reader, r, to);
	if (r->kind == PERF_READ_FORK && r->pid == r->tid && r->pid != r->parent_pid)
		return edit_begin(i, reader, r, r->pid, to);
	if (r->kind == PERF_READ_COMM && r->exec && r->pid == r->tid)
		return edit_begin(i, reader, r, r->pid, to);
	return 0;
}
