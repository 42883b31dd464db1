/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/import/taken_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/compare.h"
#include "base/data/vec.h"
#include "base/system/error.h"
#include "capture/dso/dso.h"
#include "capture/import/object_file.h"
#include "capture/perfdata/perf_reader.h"
#include "profile/idindex.h"

/*
 * Between the moment that krait takes as a sample's and the one that perf does, the kernel runs krait's program: that is
 * up to 70 us for 400 frames, on a machine of 2022.
 */
#define NEAR_NS 250000
/* A recording has one library for each 16 million places, and one mapping more for each opcode. */
#define LIBRARIES_MAX 65536

struct taken {
	__u64 time_ns;
	int tid;
	__u32 chain; /* number of its chain */
};

/* A chain is its words in the pool: their number, then the addresses. */
struct chain_at {
	__u64 at; /* in words */
	bool has_python;
};

/* When a process had its first stack and its last one. */
struct span {
	int pid;
	__u64 first_ns, last_ns;
};

struct taken_stacks {
	struct taken *list; /* by thread and time */
	size_t cnt, cap;
	bool near;
	__u64 *pool;
	size_t pool_cnt, pool_cap;
	struct chain_at *chains; /* chains[0] is not used */
	__u32 chain_cnt, chain_cap;
	struct idindex index; /* of chains, by content */
	struct span *spans; /* in order of pids */
	unsigned span_cnt, span_cap;
	struct taken_library *libraries;
	unsigned library_cnt, library_cap;
};

void taken_stacks__free(struct taken_stacks *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < t->library_cnt; i++)
		free(t->libraries[i].path);
	free(t->libraries);
	idindex_free(&t->index);
	free(t->spans);
	free(t->chains);
	free(t->pool);
	free(t->list);
	free(t);
}

/* ---- chains ----------------------------------------------------------------------------------- */

static __u64 word(const struct perf_read *r, unsigned i)
{
	__u64 value;

	memcpy(&value, (const char *)r->chain + i * sizeof(value), sizeof(value));
	return value;
}

/* The addresses behind the marker of user mode: [*ret_from, the end). False: there are none, or others behind them. */
static bool user_part(const struct perf_read *r, unsigned *ret_from)
{
	unsigned from = 0;

	while (from < r->chain_cnt && word(r, from) != (__u64)PERF_CONTEXT_USER)
		from++;
	from++;
	for (unsigned i = from; i < r->chain_cnt; i++) {
		if (word(r, i) >= (__u64)PERF_CONTEXT_MAX)
			return false;
	}
	*ret_from = from;
	return from < r->chain_cnt;
}

/* The number of the chain with these words, which are the last of the pool, unless they are there already; 0: no memory. */
static __u32 intern(struct taken_stacks *t, size_t at, bool has_python)
{
	const size_t size = (t->pool_cnt - at) * sizeof(*t->pool);
	const __u32 hash = idindex_hash_bytes((const char *)(t->pool + at), size, 0);
	const struct idindex_slot *slot;

	if (vec_reserve(t->chains, t->chain_cap, t->chain_cnt + 1) || idindex_reserve(&t->index))
		return 0;
	idindex_for_each(&t->index, hash, slot) {
		const __u64 *other = t->pool + t->chains[slot->id].at;

		if (*other == t->pool[at] && !memcmp(other, t->pool + at, size)) {
			t->pool_cnt = at;
			return slot->id;
		}
	}
	t->chains[t->chain_cnt] = (struct chain_at){ at, has_python };
	idindex_insert(&t->index, hash, t->chain_cnt);
	return t->chain_cnt++;
}

static __u32 add_chain(struct taken_stacks *t, const struct perf_read *r, unsigned from)
{
	const unsigned cnt = r->chain_cnt - from;
	const size_t at = t->pool_cnt;
	bool has_python = false;

	if (vec_reserve(t->pool, t->pool_cap, at + cnt + 1))
		return 0;
	t->pool[t->pool_cnt++] = cnt;
	for (unsigned i = from; i < r->chain_cnt; i++) {
		t->pool[t->pool_cnt] = word(r, i);
		has_python |= dso_has(t->pool[t->pool_cnt++]);
	}
	return intern(t, at, has_python);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static void widen(struct span *s, const struct span *by)
{
	if (by->first_ns < s->first_ns)
		s->first_ns = by->first_ns;
	if (by->last_ns > s->last_ns)
		s->last_ns = by->last_ns;
}

/* Those of one process become one in settle(). */
static int add_span(struct taken_stacks *t, int pid, __u64 time_ns)
{
	const struct span new = { pid, time_ns, time_ns };

	if (t->span_cnt && t->spans[t->span_cnt - 1].pid == pid) {
		widen(&t->spans[t->span_cnt - 1], &new);
		return 0;
	}
	if (vec_reserve(t->spans, t->span_cap, t->span_cnt + 1))
		return -ENOMEM;
	t->spans[t->span_cnt++] = new;
	return 0;
}

static int take_sample(struct taken_stacks *t, const struct perf_read *r)
{
	unsigned from;
	__u32 chain;

	if (!user_part(r, &from))
		return 0;
	chain = add_chain(t, r, from);
	if (!chain || vec_reserve(t->list, t->cap, t->cnt + 1))
		return -ENOMEM;
	t->near |= !r->period;
	t->list[t->cnt] = (struct taken){ r->period ? r->period : r->time_ns, r->tid, chain };
	return add_span(t, r->pid, t->list[t->cnt++].time_ns);
}

static int take_mapping(struct taken_stacks *t, const struct perf_read *r)
{
	struct taken_library *l;

	if (r->in_kernel || !dso_has(r->start) || !object_file_is_dso(r->text) ||
	    r->build_id_size != sizeof(l->build_id))
		return 0;
	for (unsigned i = t->library_cnt; i-- > 0;) {
		if (t->libraries[i].start == r->start)
			return 0;
	}
	if (t->library_cnt == LIBRARIES_MAX)
		return -E2BIG;
	if (vec_reserve(t->libraries, t->library_cap, t->library_cnt + 1))
		return -ENOMEM;
	l = &t->libraries[t->library_cnt];
	*l = (struct taken_library){ .path = strdup(r->text), .start = r->start, .size = r->size };
	memcpy(l->build_id, r->build_id, sizeof(l->build_id));
	t->library_cnt += l->path != NULL;
	return l->path ? 0 : -ENOMEM;
}

static int compare(const void *left, const void *right)
{
	const struct taken *x = left, *y = right;

	return compare_numbers(x->tid, y->tid) ?: compare_numbers(x->time_ns, y->time_ns);
}

static int compare_pids(const void *left, const void *right)
{
	const struct span *x = left, *y = right;

	return compare_numbers(x->pid, y->pid);
}

static void settle(struct taken_stacks *t)
{
	unsigned cnt = 0;

	if (t->cnt)
		qsort(t->list, t->cnt, sizeof(*t->list), compare);
	if (t->span_cnt)
		qsort(t->spans, t->span_cnt, sizeof(*t->spans), compare_pids);
	for (unsigned i = 0; i < t->span_cnt; i++) {
		if (!cnt || t->spans[cnt - 1].pid != t->spans[i].pid)
			t->spans[cnt++] = t->spans[i];
		else
			widen(&t->spans[cnt - 1], &t->spans[i]);
	}
	t->span_cnt = cnt;
}

static int read_records(struct taken_stacks *t, struct perf_reader *reader)
{
	struct perf_read r;
	int result, err = 0;

	while (!err && (result = perf_reader__next(reader, &r)) > 0) {
		if (r.kind == PERF_READ_SAMPLE)
			err = take_sample(t, &r);
		else if (r.kind == PERF_READ_MAPPING)
			err = take_mapping(t, &r);
	}
	settle(t);
	return err ? err : result;
}

/* Another capture's periods are no times, and nothing of it would be found. */
static bool is_ours(const struct perf_reader *reader)
{
	unsigned cnt;
	const struct perf_read_event *list = perf_reader__events(reader, &cnt);

	return cnt == 1 && !strcmp(list[0].name, TAKEN_EVENT);
}

int taken_stacks__read(struct taken_stacks **ret, FILE *in, const char *name, struct error *err)
{
	struct taken_stacks *t = calloc(1, sizeof(*t));
	struct perf_reader *reader = NULL;
	int result = t ? perf_reader__open(&reader, in, name, err) :
			 error_set(err, ENOMEM, EXIT_CODE_OUTPUT, "out of memory");

	if (!result && !is_ours(reader))
		result = error_set(
			err, EINVAL, EXIT_CODE_USAGE,
			"%s: not what krait attach --perf -o FILE writes, so its stacks have no place in perf's samples",
			name);
	if (!result) {
		t->chain_cnt = 1;
		result = read_records(t, reader);
		if (result)
			error_set(err, -result, EXIT_CODE_OUTPUT, "%s: %s", name,
				  strerror(-result));
	}
	perf_reader__free(reader);
	if (result)
		taken_stacks__free(t);
	else
		*ret = t;
	return result;
}

/* ---- finding ---------------------------------------------------------------------------------- */

/* The first that does not come before that thread and time. */
static size_t first_from(const struct taken_stacks *t, int tid, __u64 time_ns)
{
	const struct taken key = { .tid = tid, .time_ns = time_ns };
	size_t from = 0, to = t->cnt;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (compare(&t->list[middle], &key) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

enum taken_found taken_stacks__find(const struct taken_stacks *t, int tid, __u64 time_ns,
				    struct taken_stack *ret)
{
	const __u64 from_ns = t->near ? time_ns - (time_ns < NEAR_NS ? time_ns : NEAR_NS) : time_ns;
	const struct taken *first = t->list + first_from(t, tid, from_ns), *next = first + 1;
	const struct chain_at *chain;

	if (first >= t->list + t->cnt || first->tid != tid || first->time_ns > time_ns)
		return TAKEN_NONE;
	for (; next < t->list + t->cnt && next->tid == tid && next->time_ns <= time_ns; next++) {
		if (next->chain != first->chain)
			return TAKEN_SEVERAL;
	}
	chain = &t->chains[first->chain];
	*ret = (struct taken_stack){ t->pool + chain->at + 1, (unsigned)t->pool[chain->at],
				     chain->has_python };
	return TAKEN_FOUND;
}

static const struct span *find_span(const struct taken_stacks *t, int pid)
{
	const struct span key = { .pid = pid };

	return t->span_cnt ? bsearch(&key, t->spans, t->span_cnt, sizeof(*t->spans), compare_pids) :
			     NULL;
}

bool taken_stacks__has(const struct taken_stacks *t, int pid)
{
	return find_span(t, pid) != NULL;
}

bool taken_stacks__are_before(const struct taken_stacks *t, int pid, __u64 time_ns)
{
	const struct span *s = find_span(t, pid);

	return s && time_ns > s->last_ns;
}

bool taken_stacks__are_after(const struct taken_stacks *t, int pid, __u64 time_ns)
{
	const struct span *s = find_span(t, pid);

	return s && time_ns < s->first_ns;
}

bool taken_stacks__are_near(const struct taken_stacks *t)
{
	return t->near;
}

const struct taken_library *taken_stacks__libraries(const struct taken_stacks *t, unsigned *ret_cnt)
{
	*ret_cnt = t->library_cnt;
	return t->libraries;
}
