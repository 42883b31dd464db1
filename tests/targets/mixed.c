/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mixed.c - an extension module whose functions work and call back into Python, for mixed.py.
 *
 * Built by the tests with frame pointers and without the headers of Python, so one file serves every
 * version: only the layout of PyModuleDef and PyMethodDef is needed, which has not changed. Built with
 * -DFREE_THREADED for interpreters without a GIL, whose objects begin with other counts.
 */
#include <stddef.h>
#include <stdint.h>

typedef struct {
#ifdef FREE_THREADED
	uintptr_t thread;
	uint16_t flags;
	uint8_t mutex, gc_bits;
	uint32_t local_refcnt;
	intptr_t shared_refcnt;
#else
	intptr_t refcnt;
#endif
	void *type;
} object;

#ifdef FREE_THREADED
#define STATIC_OBJECT                                                                              \
	{                                                                                          \
		.local_refcnt = UINT32_MAX                                                         \
	}
#else
#define STATIC_OBJECT                                                                              \
	{                                                                                          \
		.refcnt = 1                                                                        \
	}
#endif

typedef struct {
	const char *name;
	object *(*function)(object *, object *);
	int flags;
	const char *doc;
} method;

typedef struct {
	object base;
	void *init;
	intptr_t index;
	void *copy;
	const char *name, *doc;
	intptr_t size;
	method *methods;
	void *slots, *traverse, *clear, *free;
} module_def;

#define METH_O 8
#define API_VERSION 1013

object *PyModule_Create2(module_def *def, int api_version);
object *PyObject_CallNoArgs(object *callable);
object *PyInit_mixed_native(void);

#define NOINLINE __attribute__((noinline))

static volatile long sink;

NOINLINE static void work(long n)
{
	for (long i = 0; i < n; i++)
		sink += i;
}

NOINLINE static object *call_back(object *callable)
{
	object *result = PyObject_CallNoArgs(callable);

	sink++; /* no tail call: this function stays on the stack */
	return result;
}

#define LEVEL(name)                                                                                \
	NOINLINE static object *name(object *self, object *callable)                               \
	{                                                                                          \
		object *result;                                                                    \
		(void)self;                                                                        \
		work(20000);                                                                       \
		result = call_back(callable);                                                      \
		sink++;                                                                            \
		return result;                                                                     \
	}
LEVEL(native1)
LEVEL(native2)
LEVEL(native3)
LEVEL(native4)
LEVEL(native5)

static method methods[] = {
	{ "native1", native1, METH_O, NULL }, { "native2", native2, METH_O, NULL },
	{ "native3", native3, METH_O, NULL }, { "native4", native4, METH_O, NULL },
	{ "native5", native5, METH_O, NULL }, { NULL, NULL, 0, NULL },
};

static module_def def = {
	.base = STATIC_OBJECT, .name = "mixed_native", .size = -1, .methods = methods
};

object *PyInit_mixed_native(void)
{
	return PyModule_Create2(&def, API_VERSION);
}
