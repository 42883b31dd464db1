/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mixed.c - an extension module whose functions work and call back into Python, for mixed.py.
 *
 * Built by the tests with frame pointers and without the headers of Python (extension.h).
 */
#include "extension.h"

object *PyObject_CallNoArgs(object *callable);
object *PyInit_mixed_native(void);

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
