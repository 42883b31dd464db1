/* SPDX-License-Identifier: BSD-2-Clause */
#include "python/layout/py_offsets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "python/layout/py_debug_offsets.h"

/* Positions common to all versions. */
#define POS_VERSION 8
#define POS_FREE_THREADED 16

#define LEVEL_FINAL 0xf

/*
 * Pre-releases, by PY_VERSION_HEX, whose table is known to have the final layout. Empty: CPython
 * changed the layout up to 3.15.0b4, and nobody has checked what came between that and the final.
 */
static const __u32 known_prereleases[] = { 0 };

struct parser {
	const __u8 *table;
	const struct py_debug_offsets *positions;
	bool free_threaded;
	struct py_offsets offsets;
	char *why;
	size_t why_size;
};

static __u64 word_at(const void *table, size_t pos)
{
	__u64 word;

	memcpy(&word, (const __u8 *)table + pos, sizeof(word));
	return word;
}

bool py_debug_table_has_cookie(const void *table, size_t len)
{
	return len >= 8 && !memcmp(table, "xdebugpy", 8);
}

__u32 py_debug_table_version(const void *table, size_t len)
{
	__u64 version = len >= POS_VERSION + 8 ? word_at(table, POS_VERSION) : 0;

	return version <= ~0U ? (__u32)version : 0;
}

size_t py_debug_table_size(const void *table, size_t len)
{
	__u32 version = py_debug_table_version(table, len);
	const struct py_debug_offsets *positions = py_debug_offsets_find(version >> 16 & 0xff);
	size_t size = version >> 24 == 3 && positions ? positions->table_size :
							POS_FREE_THREADED + 8;

	return size < len ? size : len;
}

const char *py_offsets_anchors_why(const struct py_offsets *o, bool of_file)
{
	const struct py_anchor *known = py_anchor_find(o->version >> 16 & 0xff);

	if (o->thread.last_profiled_frame == PYOFF_ABSENT)
		return "";
	if (!of_file)
		return "its layout is in its memory only, not in a file";
	if (o->version >> 24 != 3 || !known ||
	    o->thread.last_profiled_frame != known->last_profiled_frame ||
	    o->thread.last_profiled_frame_seq != known->last_profiled_frame_seq)
		return "its layout is not that of a release that krait knows";
	return "";
}

void py_version_format(__u32 version, char *ret, size_t size)
{
	static const char *const levels[16] = { [0xa] = "a", [0xb] = "b", [0xc] = "rc" };
	unsigned level = version >> 4 & 0xf;
	unsigned micro = version >> 8 & 0xff;
	int n;

	if (micro == PY_MICRO_UNKNOWN && level == LEVEL_FINAL) {
		snprintf(ret, size, "%u.%u", version >> 24, version >> 16 & 0xff);
		return;
	}
	n = snprintf(ret, size, "%u.%u.%u", version >> 24, version >> 16 & 0xff, micro);
	if (level != LEVEL_FINAL && n > 0 && (size_t)n < size)
		snprintf(ret + n, size - (size_t)n, "%s%u", levels[level] ? levels[level] : "?",
			 version & 0xf);
}

static bool prerelease_is_known(__u32 version)
{
	for (size_t i = 0; i < sizeof(known_prereleases) / sizeof(known_prereleases[0]); i++)
		if (version && known_prereleases[i] == version)
			return true;
	return false;
}

/* The positions for the version; or NULL, and why. */
static const struct py_debug_offsets *select_positions(__u32 version, char *why, size_t why_size)
{
	const struct py_debug_offsets *positions = py_debug_offsets_find(version >> 16 & 0xff);
	bool final = (version >> 4 & 0xf) == LEVEL_FINAL;
	char name[24];

	py_version_format(version, name, sizeof(name));
	if (version >> 24 != 3 || !positions) {
		snprintf(why, why_size,
			 "CPython %s (0x%08x) is not known to this krait, which supports %s", name,
			 version, PY_SUPPORTED);
		return NULL;
	}
	if (!final && !prerelease_is_known(version)) {
		snprintf(why, why_size,
			 "CPython %s (0x%08x) is a pre-release whose layout is not known to krait",
			 name, version);
		return NULL;
	}
	return positions;
}

static int refuse(struct parser *p, const char *where, const char *field, const char *what,
		  __u64 value)
{
	snprintf(p->why, p->why_size, "its debug offsets make no sense: %s%s%s %s (%llu)", where,
		 *field ? "." : "", field, what, (unsigned long long)value);
	return -ENODATA;
}

static __u64 size_of(const struct parser *p, enum py_struct i)
{
	return word_at(p->table, py_structs[i].at[p->positions->column]);
}

static int check_structs(struct parser *p)
{
	for (int i = 0; i < PYS_CNT; i++) {
		__u64 size = size_of(p, (enum py_struct)i);

		if (!size || size > py_structs[i].size_max)
			return refuse(p, py_structs[i].name, "size", "cannot be", size);
	}
	return 0;
}

static __s32 *destination(struct parser *p, const struct py_member_info *m)
{
	return (__s32 *)((char *)&p->offsets + m->dest);
}

static int parse_member(struct parser *p, const struct py_member_info *m)
{
	const char *owner = py_structs[m->owner].name;
	const __u16 at = m->at[p->positions->column];
	__u64 value, size;

	*destination(p, m) = PYOFF_ABSENT;
	if (!at || (m->flags & PYM_FREE_THREADED && !p->free_threaded))
		return 0;
	value = word_at(p->table, at);
	size = size_of(p, m->owner);
	if (value > size || size - value < m->width)
		return refuse(p, owner, m->name, "ends beyond its struct", value);
	if (m->window && value + m->width > m->window)
		return refuse(p, owner, m->name, "lies beyond what the kernel side reads", value);
	if (value % m->width)
		return refuse(p, owner, m->name, "is not aligned", value);
	*destination(p, m) = (__s32)value;
	return 0;
}

/* Two fields of one struct at the same place: at least one of them is wrong. */
static int check_overlaps(struct parser *p)
{
	for (int i = 0; i < PY_MEMBERS; i++) {
		const struct py_member_info *a = &py_members[i];
		__s32 at = *destination(p, a);

		if (at == PYOFF_ABSENT || a->flags & PYM_IS_SIZE)
			continue;
		for (int j = 0; j < i; j++) {
			const struct py_member_info *b = &py_members[j];
			__s32 bt = *destination(p, b);

			if (b->owner == a->owner && bt != PYOFF_ABSENT &&
			    !(b->flags & PYM_IS_SIZE) && at < bt + (__s32)b->width &&
			    bt < at + (__s32)a->width)
				return refuse(p, py_structs[a->owner].name, a->name,
					      "overlaps another field", (__u64)at);
		}
	}
	return 0;
}

/* A member of the interpreter's gc struct. Only the name of a stack depends on it. */
static __s32 gc_member(const struct parser *p, __u16 position, __u64 width)
{
	__u64 gc = word_at(p->table, p->positions->gc);
	__u64 at = position ? word_at(p->table, position) : 0;
	__u64 size = size_of(p, PYS_INTERP);

	if (!position || gc >= size || at >= size - gc || (gc + at) % width)
		return PYOFF_ABSENT;
	return (__s32)(gc + at);
}

/* Derives what is not in the table of every version. */
static int derive(struct parser *p)
{
	struct py_offsets *o = &p->offsets;
	__u64 size = size_of(p, PYS_UNICODE);
	/* PyCompactUnicodeObject adds a Py_ssize_t and a char pointer to PyASCIIObject. */
	__s32 compact = o->unicode.ascii_size + 16;

	/*
	 * co_version is the sixth int behind co_firstlineno (Include/cpython/code.h, 3.12 to 3.15:
	 * nlocalsplus, framesize, nlocals, ncellvars, nfreevars, version), in both builds.
	 */
	o->code.version = o->code.firstlineno + 24;
	if (!pyoff_has_key(o))
		return refuse(p, py_structs[PYS_CODE].name, "co_firstlineno",
			      "lies too far from the names", (__u64)o->code.firstlineno);
	o->runtime.tstate_current = PYOFF_ABSENT;
	o->runtime.gil = PYOFF_ABSENT;
	o->runtime.gc_collecting = PYOFF_ABSENT;
	o->interp.gc_collecting = gc_member(p, p->positions->gc_collecting, 4);
	o->interp.gc_frame = gc_member(p, p->positions->gc_frame, 8);
	o->thread.cframe = PYOFF_ABSENT;
	o->cframe.current_frame = PYOFF_ABSENT;
	o->cframe.previous = PYOFF_ABSENT;
	o->frame.is_entry = PYOFF_ABSENT;
	o->code.bytecode = PYOFF_ABSENT;
	if (o->unicode.compact_size == PYOFF_ABSENT)
		o->unicode.compact_size = compact;
	if (o->unicode.compact_size != compact || (__u64)compact > size)
		return refuse(p, py_structs[PYS_UNICODE].name, "compact_size",
			      "does not fit the other sizes", (__u64)o->unicode.compact_size);
	if (o->unicode.length + 8 > o->unicode.ascii_size ||
	    o->unicode.state + 4 > o->unicode.ascii_size)
		return refuse(p, py_structs[PYS_UNICODE].name, "ascii_size",
			      "does not hold its own fields", (__u64)o->unicode.ascii_size);
	return 0;
}

int py_offsets_parse(const void *table, size_t len, struct py_offsets *ret, char *why,
		     size_t why_size)
{
	struct parser p = { .table = table, .why = why, .why_size = why_size };
	__u64 free_threaded;
	int r;

	if (!py_debug_table_has_cookie(table, len) || len < POS_FREE_THREADED + 8) {
		snprintf(why, why_size, "there are no debug offsets");
		return -ENOEXEC;
	}
	p.offsets.version = py_debug_table_version(table, len);
	p.positions = select_positions(p.offsets.version, why, why_size);
	if (!p.positions)
		return -ENOTSUP;
	if (len < p.positions->table_size)
		return refuse(&p, "the table", "", "is cut short", len);
	free_threaded = word_at(table, POS_FREE_THREADED);
	if (free_threaded > 1)
		return refuse(&p, "free_threaded", "", "is neither 0 nor 1", free_threaded);
	p.free_threaded = free_threaded;
	p.offsets.flags = free_threaded ? PYOFF_FREE_THREADED : 0;
	r = check_structs(&p);
	for (int i = 0; !r && i < PY_MEMBERS; i++)
		r = parse_member(&p, &py_members[i]);
	if (!r)
		r = check_overlaps(&p);
	if (!r)
		r = derive(&p);
	if (!r)
		*ret = p.offsets;
	return r;
}
