/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_dwarf_layout.c - struct layouts from debug information: this program's own, whose structs
 * have the names of CPython's and the members of several of its versions.
 *
 * 3.10, 3.12 and 3.14 are complete; 3.8 lacks a member, and 3.15 has one beyond what a sample
 * reads.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "process/identify/dwarf_offsets.h"
#include "base/data/cleanup.h"

#define VERSION(minor) (0x030000f0U | (__u32)(minor) << 16)

typedef struct _object {
	long ob_refcnt;
	struct _typeobject *ob_type;
} PyObject;

typedef struct {
	PyObject ob_base;
	long ob_size;
} PyVarObject;

/* Members in an unnamed struct, in an unnamed union, behind a typedef and a qualifier. */
typedef struct _is {
	struct _is *next;
	union {
		struct {
			long pad;
			struct _ts *tstate_head;
		};
		char other[64];
	};
	struct {
		struct _ts *head;
	} threads;
	long id;
	unsigned long _code_object_generation;
	struct {
		void *gil;
	} ceval;
	struct {
		long other;
		int collecting;
	} gc;
} PyInterpreterState;

typedef struct pyruntimestate {
	long flags;
	struct {
		void *mutex;
		PyInterpreterState *head;
	} interpreters;
	void *_finalizing;
	struct {
		long tstate_current;
	} gilstate;
	struct {
		long gil;
	} ceval;
	struct {
		int collecting;
	} gc;
} _PyRuntimeState;

typedef struct _ts {
	struct _ts *prev, *next;
	PyInterpreterState *interp;
	void *frame;
	struct _PyCFrame *cframe;
	unsigned _status;
	void *current_frame;
	unsigned long thread_id, native_thread_id;
	void *base_frame;
	char rest[4096];
	void *last_profiled_frame;
	unsigned long last_profiled_frame_seq;
} PyThreadState;

typedef struct _PyCFrame {
	void *current_frame;
	struct _PyCFrame *previous;
} _PyCFrame;

typedef struct _PyInterpreterFrame {
	const struct {
		void *f_code, *f_executable;
		struct _PyInterpreterFrame *previous;
		char owner, is_entry;
		void *prev_instr;
	};
	void *instr_ptr;
	void *localsplus[1];
} _PyInterpreterFrame;

typedef struct _frame {
	PyVarObject ob_base;
	struct _frame *f_back;
	void *f_code;
	int f_lasti;
} PyFrameObject;

typedef struct {
	PyVarObject ob_base;
	int co_firstlineno, co_version;
	PyObject *co_filename, *co_name, *co_code, *co_lnotab;
	PyObject *co_linetable;
	PyObject *co_qualname;
	char co_code_adaptive[1];
} PyCodeObject;

typedef struct _typeobject {
	PyVarObject ob_base;
	const char *tp_name;
} PyTypeObject;

typedef struct {
	PyObject ob_base;
	long length, hash;
	struct {
		unsigned interned : 2;
	} state;
} PyASCIIObject;

typedef struct {
	PyASCIIObject _base;
	long utf8_length;
	char *utf8;
} PyCompactUnicodeObject;

typedef struct {
	PyVarObject ob_base;
	long ob_shash;
	char ob_sval[1];
} PyBytesObject;

/* Uses all of them, so that the compiler describes them. */
static struct {
	_PyRuntimeState runtime;
	PyInterpreterState interp;
	PyThreadState thread;
	_PyCFrame cframe;
	_PyInterpreterFrame frame;
	PyFrameObject old_frame;
	PyCodeObject code;
	PyTypeObject type;
	PyCompactUnicodeObject text;
	PyBytesObject bytes;
} all;

static int parse(const char *path, int minor, struct py_offsets *ret, char why[96])
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	memset(ret, 0, sizeof(*ret));
	assert_true(fd >= 0);
	return dwarf_offsets_parse(fd, -1, VERSION(minor), ret, why, 96);
}

static struct py_offsets own(int minor)
{
	struct py_offsets o;
	char why[96];

	if (parse("/proc/self/exe", minor, &o, why))
		fail_msg("3.%d: %s", minor, why);
	assert_int_equal(o.version, VERSION(minor));
	return o;
}

static void members_are_where_the_compiler_put_them(void **state)
{
	struct py_offsets o = own(14);

	assert_int_equal(o.runtime.interpreters_head, offsetof(_PyRuntimeState, interpreters.head));
	assert_int_equal(o.runtime.finalizing, offsetof(_PyRuntimeState, _finalizing));
	assert_int_equal(o.runtime.tstate_current, PYOFF_ABSENT);
	assert_int_equal(o.interp.threads_head, offsetof(PyInterpreterState, threads.head));
	assert_int_equal(o.interp.gil, offsetof(PyInterpreterState, ceval.gil));
	assert_int_equal(o.interp.gc_collecting, offsetof(PyInterpreterState, gc.collecting));
	assert_int_equal(o.runtime.gil, PYOFF_ABSENT);
	assert_int_equal(o.thread.current_frame, offsetof(PyThreadState, current_frame));
	assert_int_equal(o.thread.status, offsetof(PyThreadState, _status));
	assert_int_equal(o.frame.instr_ptr, offsetof(_PyInterpreterFrame, instr_ptr));
	assert_int_equal(o.frame.tlbc_index, PYOFF_ABSENT);
	assert_int_equal(o.code.firstlineno, offsetof(PyCodeObject, co_firstlineno));
	assert_int_equal(o.code.code_adaptive, offsetof(PyCodeObject, co_code_adaptive));
	assert_int_equal(o.object.tp_name, offsetof(PyTypeObject, tp_name));
	assert_int_equal(o.unicode.state, offsetof(PyASCIIObject, state));
	assert_int_equal(o.unicode.ascii_size, sizeof(PyASCIIObject));
	assert_int_equal(o.unicode.compact_size, sizeof(PyCompactUnicodeObject));
	assert_int_equal(o.bytes.ob_size, offsetof(PyBytesObject, ob_base.ob_size));
	assert_int_equal(o.bytes.ob_sval, offsetof(PyBytesObject, ob_sval));
	assert_int_equal(o.flags & PYOFF_FREE_THREADED, 0);
}

static void members_without_a_name_around_them_are_found(void **state)
{
	struct py_offsets o = own(10);

	assert_int_equal(o.interp.threads_head, offsetof(PyInterpreterState, tstate_head));
	assert_int_equal(o.thread.current_frame, offsetof(PyThreadState, frame));
	assert_int_equal(o.frame.instr_ptr, offsetof(PyFrameObject, f_lasti));
	assert_int_equal(o.runtime.tstate_current,
			 offsetof(_PyRuntimeState, gilstate.tstate_current));
	assert_int_equal(o.code.linetable, offsetof(PyCodeObject, co_linetable));
	assert_int_equal(o.thread.native_thread_id, PYOFF_ABSENT);
}

static void each_version_has_its_own(void **state)
{
	struct py_offsets o = own(12);

	assert_int_equal(o.thread.cframe, offsetof(PyThreadState, cframe));
	assert_int_equal(o.cframe.previous, offsetof(_PyCFrame, previous));
	assert_int_equal(o.frame.executable, offsetof(_PyInterpreterFrame, f_code));
	assert_int_equal(o.frame.is_entry, PYOFF_ABSENT);
	assert_int_equal(o.thread.last_profiled_frame, PYOFF_ABSENT);
}

static void refused(int minor, const char *want)
{
	struct py_offsets o, none = { 0 };
	char why[96];

	assert_int_equal(parse("/proc/self/exe", minor, &o, why), -ENOENT);
	assert_string_equal(why, want);
	assert_memory_equal(&o, &none, sizeof(o));
}

static void what_is_not_there_or_too_far_is_refused(void **state)
{
	refused(8, "its debug information lacks pyruntimestate.finalizing");
	refused(15, "its debug information lacks _ts.last_profiled_frame");
}

/* Makes a copy of this program in memory. Returns its path. */
static int copy_of_self(char path[64], size_t *ret_size)
{
	cleanup_close int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("krait-test", MFD_CLOEXEC);
	struct stat st;
	off_t at = 0;

	assert_true(from >= 0 && fd >= 0 && !fstat(from, &st));
	while (at < st.st_size) {
		char buf[65536];
		ssize_t n = pread(from, buf, sizeof(buf), at);

		assert_true(n > 0 && write(fd, buf, (size_t)n) == n);
		at += n;
	}
	*ret_size = (size_t)st.st_size;
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

/* If cut anywhere, it has no layout, or the result says what is missing. */
static void a_file_cut_short_is_refused(void **state)
{
	char path[64], why[96];
	size_t size;
	cleanup_close int fd = copy_of_self(path, &size);
	struct py_offsets o;

	assert_int_equal(parse(path, 14, &o, why), 0);
	for (int i = 15; i >= 0; i--) {
		assert_int_equal(ftruncate(fd, (off_t)(size / 16 * (size_t)i)), 0);
		assert_int_equal(parse(path, 14, &o, why), -ENOENT);
		assert_true(!*why || strstr(why, " lacks "));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_where_the_compiler_put_them),
		cmocka_unit_test(members_without_a_name_around_them_are_found),
		cmocka_unit_test(each_version_has_its_own),
		cmocka_unit_test(what_is_not_there_or_too_far_is_refused),
		cmocka_unit_test(a_file_cut_short_is_refused),
	};

	memset(&all, 0, sizeof(all));
	return cmocka_run_group_tests_name("user/process/identify/dwarf_struct.c", tests, NULL,
					   NULL);
}
