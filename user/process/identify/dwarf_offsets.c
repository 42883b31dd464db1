/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/identify/dwarf_offsets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "process/identify/dwarf_struct.h"
#include "process/elf/dwfl_file.h"
#include "python/layout/py_builtin_offsets.h"

enum owner {
	RUNTIME,
	INTERP,
	THREAD,
	CFRAME,
	FRAME,
	OLD_FRAME,
	CODE,
	OBJECT,
	TYPE,
	ASCII,
	COMPACT,
	BYTES,
	OWNER_CNT
};

static const char *const names[OWNER_CNT][2] = {
	[RUNTIME] = { "pyruntimestate", "_PyRuntimeState" },
	[INTERP] = { "_is", "PyInterpreterState" },
	[THREAD] = { "_ts", "PyThreadState" },
	[CFRAME] = { "_PyCFrame", NULL },
	[FRAME] = { "_PyInterpreterFrame", NULL },
	[OLD_FRAME] = { "_frame", "PyFrameObject" },
	[CODE] = { "PyCodeObject", NULL },
	[OBJECT] = { "_object", "PyObject" },
	[TYPE] = { "_typeobject", "PyTypeObject" },
	[ASCII] = { "PyASCIIObject", NULL },
	[COMPACT] = { "PyCompactUnicodeObject", NULL },
	[BYTES] = { "PyBytesObject", NULL },
};

/* A member of struct py_offsets in the minor versions from..to; members not listed are absent. */
struct member {
	size_t dest;
	enum owner owner;
	unsigned from, to;
	const char *path; /* NULL: the size of the struct */
	unsigned window; /* it must end before this; 0: anywhere */
	unsigned width; /* size and alignment */
	bool free_threaded; /* only such builds have it */
	bool optional; /* not needed for stacks; without it states are less exact */
};

#define LAST 99
#define ROW(dest, owner, from, to, path, window, width)                                            \
	{                                                                                          \
		offsetof(struct py_offsets, dest), owner, from, to, path, window, width            \
	}
#define OPTIONAL(dest, owner, from, to, path, width)                                               \
	{                                                                                          \
		offsetof(struct py_offsets, dest), owner, from, to, path, 0, width,                \
			.optional = true                                                           \
	}
#define IN_THREAD(dest, from, to, path, width)                                                     \
	ROW(thread.dest, THREAD, from, to, path, KRAIT_THREAD_WINDOW, width)
#define IN_FRAME(dest, from, to, path, width)                                                      \
	ROW(frame.dest, FRAME, from, to, path, KRAIT_FRAME_WINDOW, width)
#define IN_OLD_FRAME(dest, path, width)                                                            \
	ROW(frame.dest, OLD_FRAME, 8, 10, path, KRAIT_OLD_FRAME_WINDOW, width)
#define IN_CFRAME(dest, path) ROW(cframe.dest, CFRAME, 11, 12, path, KRAIT_CFRAME_WINDOW, 8)
/* In 3.8 to 3.10 the window is smaller; is_sane() checks that. */
#define IN_CODE(dest, from, to, path, width)                                                       \
	ROW(code.dest, CODE, from, to, path, KRAIT_CODE_WINDOW, width)

static const struct member members[] = {
	ROW(runtime.interpreters_head, RUNTIME, 8, LAST, "interpreters.head", 0, 8),
	ROW(runtime.finalizing, RUNTIME, 8, 8, "finalizing", 0, 8),
	ROW(runtime.finalizing, RUNTIME, 9, LAST, "_finalizing", 0, 8),
	ROW(runtime.tstate_current, RUNTIME, 8, 11, "gilstate.tstate_current", 0, 8),
	OPTIONAL(runtime.gil, RUNTIME, 8, 11, "ceval.gil", 8),
	OPTIONAL(runtime.gc_collecting, RUNTIME, 8, 8, "gc.collecting", 4),
	ROW(interp.id, INTERP, 8, LAST, "id", 0, 8),
	ROW(interp.next, INTERP, 8, LAST, "next", 0, 8),
	ROW(interp.threads_head, INTERP, 8, 10, "tstate_head", 0, 8),
	ROW(interp.threads_head, INTERP, 11, LAST, "threads.head", 0, 8),
	ROW(interp.code_object_generation, INTERP, 14, LAST, "_code_object_generation", 0, 8),
	OPTIONAL(interp.gil, INTERP, 12, LAST, "ceval.gil", 8),
	OPTIONAL(interp.gc_collecting, INTERP, 9, LAST, "gc.collecting", 4),
	OPTIONAL(interp.gc_frame, INTERP, 15, LAST, "gc.frame", 8),
	IN_THREAD(prev, 8, LAST, "prev", 8),
	IN_THREAD(next, 8, LAST, "next", 8),
	IN_THREAD(interp, 8, LAST, "interp", 8),
	IN_THREAD(current_frame, 8, 10, "frame", 8),
	IN_THREAD(current_frame, 13, LAST, "current_frame", 8),
	IN_THREAD(base_frame, 15, LAST, "base_frame", 8),
	IN_THREAD(last_profiled_frame, 15, LAST, "last_profiled_frame", 8),
	IN_THREAD(last_profiled_frame_seq, 15, LAST, "last_profiled_frame_seq", 8),
	IN_THREAD(thread_id, 8, LAST, "thread_id", 8),
	IN_THREAD(native_thread_id, 11, LAST, "native_thread_id", 8),
	IN_THREAD(status, 12, LAST, "_status", 4),
	IN_THREAD(cframe, 11, 12, "cframe", 8),
	IN_CFRAME(current_frame, "current_frame"),
	IN_CFRAME(previous, "previous"),
	IN_OLD_FRAME(previous, "f_back", 8),
	IN_OLD_FRAME(executable, "f_code", 8),
	IN_OLD_FRAME(instr_ptr, "f_lasti", 4),
	IN_FRAME(previous, 11, LAST, "previous", 8),
	IN_FRAME(executable, 11, 12, "f_code", 8),
	IN_FRAME(executable, 13, LAST, "f_executable", 8),
	IN_FRAME(instr_ptr, 11, 12, "prev_instr", 8),
	IN_FRAME(instr_ptr, 13, LAST, "instr_ptr", 8),
	IN_FRAME(owner, 11, LAST, "owner", 1),
	IN_FRAME(is_entry, 11, 11, "is_entry", 1),
	{ offsetof(struct py_offsets, frame.tlbc_index), FRAME, 14, LAST, "tlbc_index",
	  KRAIT_FRAME_WINDOW, 4, true },
	ROW(frame.localsplus, FRAME, 11, LAST, "localsplus", 0, 8),
	IN_CODE(filename, 8, LAST, "co_filename", 8),
	IN_CODE(name, 8, LAST, "co_name", 8),
	IN_CODE(qualname, 11, LAST, "co_qualname", 8),
	IN_CODE(linetable, 8, 9, "co_lnotab", 8),
	IN_CODE(linetable, 10, LAST, "co_linetable", 8),
	IN_CODE(firstlineno, 8, LAST, "co_firstlineno", 4),
	IN_CODE(bytecode, 8, 10, "co_code", 8),
	IN_CODE(version, 12, LAST, "co_version", 4),
	{ offsetof(struct py_offsets, code.tlbc), CODE, 14, LAST, "co_tlbc", 0, 8, true },
	ROW(code.code_adaptive, CODE, 11, LAST, "co_code_adaptive", 0, 1),
	ROW(object.ob_type, OBJECT, 8, LAST, "ob_type", 0, 8),
	ROW(object.tp_name, TYPE, 8, LAST, "tp_name", 0, 8),
	ROW(unicode.state, ASCII, 8, LAST, "state", 0, 4),
	ROW(unicode.length, ASCII, 8, LAST, "length", 0, 8),
	ROW(unicode.ascii_size, ASCII, 8, LAST, NULL, 0, 1),
	ROW(unicode.compact_size, COMPACT, 8, LAST, NULL, 0, 1),
	ROW(bytes.ob_size, BYTES, 8, LAST, "ob_base.ob_size", 0, 8),
	ROW(bytes.ob_sval, BYTES, 8, LAST, "ob_sval", 0, 1),
};
#define MEMBER_CNT (sizeof(members) / sizeof(members[0]))

static bool is_sane(const struct member *m, long offset, unsigned minor)
{
	unsigned window = m->window;

	if (m->owner == CODE && window && minor <= 10)
		window = KRAIT_OLD_CODE_WINDOW;
	return offset >= 0 && offset % m->width == 0 && offset < 1 << 20 &&
	       (!window || (unsigned long)offset + m->width <= window);
}

/* Fills what is not an offset: flags and kinds follow from the minor version. */
static void begin(struct py_offsets *o, unsigned minor, __u32 version)
{
	const struct py_offsets *table = py_builtin_offsets_find(minor);

	for (size_t i = 0; i < sizeof(*o) / sizeof(__s32); i++)
		((__s32 *)o)[i] = PYOFF_ABSENT;
	o->version = version;
	o->flags = table ? table->flags : 0;
	o->frame_kind = table ? table->frame_kind : PY_FRAME_OWNER;
	o->lasti_shift = table ? table->lasti_shift : 0;
}

static int derive(struct dwarf_struct *s, __u32 version, struct py_offsets *ret, char *why,
		  size_t why_size)
{
	unsigned minor = version >> 16 & 0xff;
	struct py_offsets o;

	begin(&o, minor, version);
	/*
	 * The thread that owns an object: present if reference counts are per thread
	 * (free-threaded).
	 */
	if (dwarf_member_offset(&s[OBJECT], "ob_tid") >= 0)
		o.flags |= PYOFF_FREE_THREADED;
	for (size_t i = 0; i < MEMBER_CNT; i++) {
		const struct member *m = &members[i];
		long offset;

		if (minor < m->from || minor > m->to ||
		    (m->free_threaded && !(o.flags & PYOFF_FREE_THREADED)))
			continue;
		offset = m->path ? dwarf_member_offset(&s[m->owner], m->path) :
				   dwarf_struct_size(&s[m->owner]);
		if (m->optional && !is_sane(m, offset, minor))
			continue;
		if (!is_sane(m, offset, minor)) {
			snprintf(why, why_size, "its debug information lacks %s.%s",
				 names[m->owner][0], m->path ? m->path : "size");
			return -ENOENT;
		}
		*(__s32 *)((char *)&o + m->dest) = (__s32)offset;
	}
	if (!pyoff_has_key(&o)) {
		snprintf(why, why_size, "its code objects are laid out in an unknown way");
		return -ENOENT;
	}
	*ret = o;
	return 0;
}

bool dwarf_offsets_are_sane(const struct py_offsets *o, __u32 version)
{
	unsigned minor = version >> 16 & 0xff;
	struct py_offsets rest;

	begin(&rest, minor, version);
	rest.flags |= o->flags & PYOFF_FREE_THREADED;
	for (size_t i = 0; i < MEMBER_CNT; i++) {
		const struct member *m = &members[i];
		__s32 offset = *(const __s32 *)((const char *)o + m->dest);

		if (minor < m->from || minor > m->to ||
		    (m->free_threaded && !(rest.flags & PYOFF_FREE_THREADED)))
			continue;
		if (m->optional && offset == PYOFF_ABSENT)
			continue;
		if (!is_sane(m, offset, minor))
			return false;
		*(__s32 *)((char *)&rest + m->dest) = offset;
	}
	/* And nothing else is set. */
	return pyoff_has_key(o) && !memcmp(&rest, o, sizeof(rest));
}

int dwarf_offsets_parse(int fd, int debug_fd, __u32 version, struct py_offsets *ret, char *why,
			size_t why_size)
{
	struct dwarf_struct s[OWNER_CNT];
	struct dwfl_file file;
	int r = -ENOENT;
	bool split;

	for (int i = 0; i < OWNER_CNT; i++)
		s[i] = (struct dwarf_struct){ .names = { names[i][0], names[i][1] } };
	*why = '\0';
	if (dwfl_file_open(&file, fd, debug_fd))
		return -ENOENT;
	split = dwarf_structs_find(file.module, s, OWNER_CNT);
	if (s[RUNTIME].found || s[THREAD].found)
		r = derive(s, version, ret, why, why_size);
	else if (split)
		snprintf(
			why, why_size,
			"its debug information is split: in .dwo files, which krait does not read");
	dwfl_file_close(&file);
	return r;
}
