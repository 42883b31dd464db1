/* SPDX-License-Identifier: BSD-2-Clause */
#include "python/code/symbolizer.h"

#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "python/code/code_cache.h"
#include "python/code/name_share.h"

/* ---- snapshot ---------------------------------------------------------------------------------- */

/*
 * A code object from a record: a few regions of the target's memory, as the kernel saw
 * them in the interrupt.
 *
 * They are read as a struct memory, by the same code that reads live memory, with all its checks.
 */

static int snapshot_read(void *ctx, __u64 addr, void *buf, size_t len)
{
	const struct record_code *record = ctx;

	for (__u32 i = 0; i < record->region_cnt; i++) {
		__u64 offset = addr - record->regions[i].addr;
		__u32 size = record->regions[i].size;

		if (addr < record->regions[i].addr || offset > size || len > size - offset)
			continue;
		memcpy(buf, record->data + record->regions[i].pos + offset, len);
		return 0;
	}
	return -EFAULT;
}

static struct memory snapshot_memory(const struct record_code *record)
{
	return (struct memory){ .read = snapshot_read, .ctx = (void *)record };
}

/*
 * Reads the object into *e, which is empty. type_addr: of code objects, 0: unknown yet. Returns 0,
 * or -errno: it is incomplete, or not the object that was interrupted.
 */
static int snapshot_read_entry(const struct record_code *record, const struct py_offsets *offsets,
			       __u64 type_addr, struct code_entry *e)
{
	struct memory memory = snapshot_memory(record);
	int err = code_head_read(&memory, offsets, record->code_addr, &e->head);
	struct code_head head = e->head;

	if (!record->has_lines)
		head.linetable_addr = 0;

	if (!err && e->head.fingerprint != record->fingerprint)
		err = -EINVAL;
	if (!err)
		err = code_head_check_type(&memory, offsets, &e->head, type_addr);
	if (!err)
		err = code_body_read(&memory, offsets, &head, &e->body);
	if (err)
		return err;
	e->code_addr = record->code_addr;
	e->last_instr_off = FRAME_INSTR_UNKNOWN;
	e->last_position = (struct source_position){ -1, -1, -1, -1 };
	return 0;
}

/* Reads only its head, unchecked. Returns 0 or -errno. */
static int snapshot_read_head(const struct record_code *record, const struct py_offsets *offsets,
			      struct code_head *ret)
{
	struct memory memory = snapshot_memory(record);

	return code_head_read(&memory, offsets, record->code_addr, ret);
}

/* ---- symbolizer -------------------------------------------------------------------------------- */

/* Unreadable addresses to remember; a healthy program has none. */
#define REFUSED_CNT 64
/* Then try again: at 1 kHz once a second. */
#define REFUSALS_MAX 1024

/* A query that could not be answered because memory was unreadable. */
struct refused {
	__u64 code_addr;
	__u64 generation;
	__u32 fingerprint;
	__u32 left; /* refusals until the next attempt; 0: empty element */
};

struct symbolizer {
	struct code_reader reader;
	struct code_cache cache;
	struct refused refused[REFUSED_CNT];
	struct allowance looks;
	struct name_share *share; /* of all processes of its owner; NULL: none */
	struct symbolizer_stats stats;
};

struct symbolizer *symbolizer__new(const struct py_offsets *offsets, const struct memory *memory)
{
	struct symbolizer *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->reader.offsets = *offsets;
	s->reader.memory = *memory;
	return s;
}

__u32 symbolizer__version(const struct symbolizer *s)
{
	return s->reader.offsets.version;
}

void symbolizer__bound_looks(struct symbolizer *s, __u32 at_once, __u32 per_sec,
			     struct name_share *share)
{
	s->looks = allowance_of(at_once, per_sec);
	s->share = share;
}

void symbolizer__charge(struct symbolizer *s, struct name_share *share)
{
	if (s->share)
		s->share = share;
}

void symbolizer__free(struct symbolizer *s)
{
	if (!s)
		return;
	code_cache_clear(&s->cache);
	free(s);
}

/* ---- addresses that cannot be read ----------------------------------------------------------- */

static struct refused *refused_slot(struct symbolizer *s, const struct code_query *q)
{
	return &s->refused[code_addr_hash(q->code_addr) % REFUSED_CNT];
}

static bool is_refused(struct symbolizer *s, const struct code_query *q)
{
	struct refused *r = refused_slot(s, q);

	if (!r->left || r->code_addr != q->code_addr || r->generation != q->code_generation ||
	    r->fingerprint != q->fingerprint)
		return false;
	r->left--;
	return true;
}

static void refuse(struct symbolizer *s, const struct code_query *q)
{
	*refused_slot(s, q) =
		(struct refused){ q->code_addr, q->code_generation, q->fingerprint, REFUSALS_MAX };
}

/* Is one more look allowed now? Consumes it. */
static bool take_look(struct symbolizer *s)
{
	if (!allowance_has(&s->looks) || (s->share && !allowance_has(&s->share->looks)))
		return false;
	allowance_take(&s->looks);
	if (s->share)
		allowance_take(&s->share->looks);
	return true;
}

static bool is_closed(const struct symbolizer *s)
{
	return s->share && s->share->closed;
}

static __u64 begin_spending(const struct symbolizer *s)
{
	return s->share ? clock_monotonic_ns() : 0;
}

static void end_spending(struct symbolizer *s, __u64 begin_ns)
{
	if (s->share)
		s->share->ns += clock_monotonic_ns() - begin_ns;
}

/* ---- roles ------------------------------------------------------------------------------------- */

static bool is_one_of(const char *name, const char *const *names, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool is_in_folder(const char *path, const char *folder)
{
	const char *slash = strrchr(path, '/');
	size_t len = strlen(folder);

	return slash && slash - path > (ptrdiff_t)len && slash[-(ptrdiff_t)len - 1] == '/' &&
	       !memcmp(slash - len, folder, len);
}

static unsigned roles_of(const struct code_entry *e)
{
	/* Functions between asyncio.run() and a coroutine: Lib/asyncio of 3.14 and 3.15, uvloop 0.22. */
	static const char *const loop[] = {
		"run",
		"Runner.run",
		"BaseEventLoop.run_until_complete",
		"BaseEventLoop.run_forever",
		"BaseEventLoop._run_once",
		"Handle._run",
	};
	static const char *const roots[] = { "<module>", "_run_module_as_main", "_bootstrap" };
	const char *name = e->body.qualname, *file = e->body.filename, *dot = strrchr(name, '.');
	unsigned roles = 0;

	if (!e->head.first_line && !strcmp(name, "__init__") && !strcmp(file, "__init__"))
		roles |= CODE_INTERNAL;
	if (is_in_folder(file, "asyncio") || is_in_folder(file, "uvloop"))
		roles |= is_one_of(name, loop, sizeof(loop) / sizeof(*loop)) ?
				 CODE_ASYNCIO | CODE_LOOP :
				 CODE_ASYNCIO;
	if (is_one_of(dot ? dot + 1 : name, roots, sizeof(roots) / sizeof(*roots)))
		roles |= CODE_THREAD_ROOT;
	return roles;
}

/* Takes over e, as code_cache_insert(). */
static int insert(struct symbolizer *s, struct code_entry *e)
{
	e->roles = roles_of(e);
	return code_cache_insert(&s->cache, e);
}

/* ---- code objects of the target ---------------------------------------------------------------- */

static int load(struct symbolizer *s, const struct code_query *q, struct code_entry **ret)
{
	struct code_entry *e = calloc(1, sizeof(*e));
	bool proved;
	int err;

	if (!e)
		return -ENOMEM;
	err = code_reader_read(&s->reader, q, e, &proved);
	if (err) {
		code_entry_free(e);
		return err;
	}
	s->reader.type_addr = e->head.type_addr;
	err = insert(s, e);
	if (err)
		return err;
	if (!proved)
		return -EAGAIN;
	*ret = e;
	return 0;
}

static enum symbol_status consult_memory(struct symbolizer *s, const struct code_query *q,
					 struct code_entry **e)
{
	__u64 begin_ns;
	int err;

	if (is_closed(s)) {
		s->share->left_out++;
		return SYMBOL_LEFT_OUT;
	}

	if (!take_look(s)) {
		s->stats.unreadable++;
		return SYMBOL_UNREADABLE;
	}
	begin_ns = begin_spending(s);
	err = *e ? code_reader_revalidate(&s->reader, q, *e) : 0;
	if (err == 0)
		err = load(s, q, e);
	end_spending(s, begin_ns);
	if (err == -EAGAIN || (err == -EINVAL && code_reader_is_past(&s->reader, q))) {
		s->stats.stale++;
		return SYMBOL_STALE;
	}
	if (err < 0) {
		if (err != -ENOMEM)
			refuse(s, q);
		s->stats.unreadable++;
		return SYMBOL_UNREADABLE;
	}
	return SYMBOL_OK;
}

/* The snapshot is the truth; the target may be building another object in the same memory. */
static bool agrees(const struct code_entry *now, const struct code_entry *snapshot)
{
	return !strcmp(now->body.qualname, snapshot->body.qualname) &&
	       !strcmp(now->body.filename, snapshot->body.filename);
}

static int read_snapshot(struct code_reader *r, const struct record_code *record,
			 struct code_entry *e)
{
	return snapshot_read_entry(record, &r->offsets, r->type_addr, e);
}

/* NULL if it cannot be read. */
static struct code_entry *new_entry(struct symbolizer *s, const struct record_code *record,
				    int (*read)(struct code_reader *, const struct record_code *,
						struct code_entry *))
{
	struct code_entry *e = calloc(1, sizeof(*e));

	if (!e || !read(&s->reader, record, e))
		return e;
	code_entry_free(e);
	return NULL;
}

static void define(struct symbolizer *s, const struct record_code *record)
{
	struct code_entry *e = code_cache_find(&s->cache, record->code_addr), *now = NULL;

	if (e && e->head.fingerprint == record->fingerprint)
		return;
	e = new_entry(s, record, read_snapshot);
	/* A line table too long for a record may still be readable in the target. */
	if (!record->has_lines && take_look(s))
		now = new_entry(s, record, code_reader_read_defined);
	if (now && (!e || agrees(now, e))) {
		code_entry_free(e);
		e = now;
	} else {
		code_entry_free(now);
	}
	if (!e)
		return;
	s->reader.type_addr = e->head.type_addr;
	if (!insert(s, e))
		s->stats.defined++;
}

void symbolizer__define(struct symbolizer *s, const struct record_code *record)
{
	__u64 begin_ns;

	if (is_closed(s))
		return;
	begin_ns = begin_spending(s);
	define(s, record);
	end_spending(s, begin_ns);
}

void symbolizer__inherit(struct symbolizer *s, struct symbolizer *parent,
			 const struct record_code *record)
{
	struct code_head head;

	if (!s->reader.type_addr)
		s->reader.type_addr = parent->reader.type_addr;
	if (s->reader.type_addr || !record)
		return;
	if (!snapshot_read_head(record, &s->reader.offsets, &head) &&
	    !code_head_check_type(&parent->reader.memory, &s->reader.offsets, &head, 0))
		s->reader.type_addr = parent->reader.type_addr = head.type_addr;
}

/* Two bytes per unit; a negative offset, as unsigned, is beyond any table. */
static struct source_position position_of(const struct code_entry *e, __s32 instr_off)
{
	int line = e->head.first_line;

	/* As PyCode_Addr2Line() does. */
	if (instr_off == FRAME_INSTR_BEFORE)
		return (struct source_position){ line, line, -1, -1 };
	return linetable_lookup(&e->body.lines, (__u32)instr_off / 2);
}

enum symbol_status symbolizer__resolve(struct symbolizer *s, const struct code_query *query,
				       struct code_symbol *ret_code,
				       struct source_position *ret_position)
{
	struct code_entry *e = code_cache_find(&s->cache, query->code_addr);

	if (e && code_reader_is_proved(&s->reader, e, query)) {
		e->used = true;
		s->stats.hits++;
	} else if (is_refused(s, query)) {
		s->stats.unreadable++;
		return SYMBOL_UNREADABLE;
	} else {
		enum symbol_status status = consult_memory(s, query, &e);

		if (status != SYMBOL_OK)
			return status;
	}
	*ret_code = (struct code_symbol){ e->body.qualname, e->body.filename, e->head.first_line,
					  e->serial,	    &e->body.lines,   &e->tag,
					  e->roles };
	if (!ret_position)
		return SYMBOL_OK;
	if (e->last_instr_off != query->instr_off) {
		e->last_position = position_of(e, query->instr_off);
		e->last_instr_off = query->instr_off;
	}
	*ret_position = e->last_position;
	return SYMBOL_OK;
}

int symbolizer__opcodes(struct symbolizer *s, __u64 code_addr, __u8 *ret, __u32 unit_cnt)
{
	const struct code_entry *e = code_cache_find(&s->cache, code_addr);

	if (!e || unit_cnt > SYMBOLIZER_UNITS_MAX || !take_look(s))
		return -ENOENT;
	return code_reader_opcodes(&s->reader, e, ret, unit_cnt);
}

void symbolizer__note_bytes(struct symbolizer *s, __u64 bytes)
{
	if (s->share)
		s->share->bytes += bytes;
}

struct symbolizer_stats symbolizer__stats(const struct symbolizer *s)
{
	struct symbolizer_stats stats = s->stats;

	stats.reads = s->reader.reads;
	stats.revalidations = s->reader.revalidations;
	stats.evictions = s->cache.evictions;
	return stats;
}
