// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that claims to be CPython 3.12, of a build that no table describes: each struct begins
 * with two extra words and has another order, so only its debug information tells the layout.
 * Members have CPython's names; those that krait does not need are omitted.
 *
 * Its only thread is in fake_leaf, called by fake_root. It prints READY, then burns CPU time until
 * it is killed. Built by tests/e2e/test_dwarf.py with -g -rdynamic.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct _typeobject PyTypeObject;

typedef struct _object {
	struct _object *_ob_next, *_ob_prev;
	int64_t ob_refcnt;
	PyTypeObject *ob_type;
} PyObject;

typedef struct {
	PyObject ob_base;
	int64_t ob_size;
} PyVarObject;

struct _typeobject {
	PyVarObject ob_base;
	int64_t tp_basicsize;
	const char *tp_name;
};

typedef struct {
	PyObject ob_base;
	int64_t hash, length;
	struct {
		unsigned int interned : 2, kind : 3, compact : 1, ascii : 1;
	} state;
} PyASCIIObject;

typedef struct {
	PyASCIIObject _base;
	int64_t utf8_length;
	char *utf8;
} PyCompactUnicodeObject;

typedef struct {
	PyVarObject ob_base;
	int64_t ob_shash;
	char ob_sval[32];
} PyBytesObject;

typedef struct {
	PyVarObject ob_base;
	int co_firstlineno, co_version;
	PyBytesObject *co_linetable;
	PyObject *co_qualname, *co_name, *co_filename;
	uint64_t pad[8];
	char co_code_adaptive[64];
} PyCodeObject;

typedef struct _PyInterpreterFrame {
	uint64_t pad;
	struct _PyInterpreterFrame *previous;
	PyCodeObject *f_code;
	char owner;
	uint16_t *prev_instr;
	PyObject *localsplus[1];
} _PyInterpreterFrame;

typedef struct _PyCFrame {
	struct _PyCFrame *previous;
	_PyInterpreterFrame *current_frame;
} _PyCFrame;

typedef struct _is PyInterpreterState;

typedef struct _ts {
	PyInterpreterState *interp;
	struct _ts *next, *prev;
	uint64_t pad[12];
	unsigned long native_thread_id, thread_id;
	_PyCFrame *cframe;
	struct {
		unsigned int initialized : 1, bound : 1, unbound : 1, bound_gilstate : 1;
	} _status;
	_PyCFrame root_cframe;
} PyThreadState;

struct _is {
	uint64_t pad[3];
	struct {
		uint64_t next_unique_id;
		PyThreadState *head;
	} threads;
	int64_t id;
	PyInterpreterState *next;
};

typedef struct pyruntimestate {
	int preinitialized;
	struct {
		void *mutex;
		PyInterpreterState *head;
	} interpreters;
	PyThreadState *_finalizing;
	/* At 3.12's offset of interpreters.head: 0 there would mean that it has not begun to run. */
	unsigned long pad[4];
} _PyRuntimeState;

struct string {
	PyASCIIObject head;
	char text[32];
};

__attribute__((section(".PyRuntime"))) _PyRuntimeState _PyRuntime = { .preinitialized = 1 };
const unsigned long Py_Version = 0x030c07f0;

static PyInterpreterState interp;
static PyThreadState thread;
static PyTypeObject code_type = { .tp_name = "code" };
static PyCompactUnicodeObject unused; /* so that the compiler describes it */
static struct string strings[3];
static PyBytesObject lines;
static PyCodeObject codes[2];
static _PyInterpreterFrame frames[3];
static _PyCFrame cframe;

static PyObject *make_string(struct string *s, const char *text)
{
	s->head.ob_base.ob_refcnt = 1;
	s->head.length = (int64_t)strlen(text);
	s->head.state.kind = s->head.state.compact = s->head.state.ascii = 1;
	strcpy(s->text, text);
	return &s->head.ob_base;
}

static void make_code(PyCodeObject *c, PyObject *name)
{
	c->ob_base.ob_base.ob_refcnt = 1;
	c->ob_base.ob_base.ob_type = &code_type;
	c->co_firstlineno = 10;
	c->co_version = 1;
	c->co_name = c->co_qualname = name;
	c->co_filename = &strings[2].head.ob_base;
	c->co_linetable = &lines;
}

int main(void)
{
	lines.ob_base.ob_base.ob_refcnt = 1;
	lines.ob_base.ob_size = 2;
	memcpy(lines.ob_sval, "\xe8\x03", 2); /* one unit, kind 13, line delta -1 */
	make_string(&strings[2], "/fake.py");
	make_code(&codes[0], make_string(&strings[0], "fake_leaf"));
	make_code(&codes[1], make_string(&strings[1], "fake_root"));
	for (int i = 0; i < 2; i++) {
		frames[i].f_code = &codes[i];
		frames[i].previous = &frames[i + 1];
		frames[i].prev_instr = (uint16_t *)codes[i].co_code_adaptive;
	}
	frames[2].owner = 3;
	cframe.current_frame = &frames[0];
	cframe.previous = &thread.root_cframe;
	thread.interp = &interp;
	thread.thread_id = pthread_self();
	thread._status.bound_gilstate = 1;
	thread.cframe = &cframe;
	interp.threads.head = &thread;
	_PyRuntime.pad[0] = _PyRuntime.pad[1] = 1;
	_PyRuntime.interpreters.head = &interp;
	puts("READY");
	fflush(stdout);
	for (volatile unsigned long i = (unsigned long)unused.utf8_length;; i++)
		;
}
