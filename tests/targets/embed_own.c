// SPDX-License-Identifier: BSD-2-Clause
/*
 * An application with code of its own that embeds Python: a module that is built into it works in a
 * function that only this file sees, and in one that others see. test_embedded.py links it.
 */
#include "extension.h"

object *PyLong_FromLong(long value);
long PyLong_AsLong(object *number);
int PyImport_AppendInittab(const char *name, object *(*init)(void));
int Py_BytesMain(int argc, char **argv);
NOINLINE double own_seen(long n);

NOINLINE static double own_unseen(long n)
{
	double sum = 0;

	for (long i = 1; i < n; i++)
		sum += 1.0 / (double)i;
	return sum;
}

NOINLINE double own_seen(long n)
{
	double sum = 0;

	for (long i = 1; i < n; i++)
		sum += 2.0 / (double)i;
	return sum;
}

static object *work(object *self, object *number)
{
	long n = PyLong_AsLong(number);

	(void)self;
	return PyLong_FromLong((long)(own_unseen(n) + own_seen(n)));
}

static method methods[] = {
	{ "work", work, METH_O, NULL },
	{ NULL, NULL, 0, NULL },
};

static module_def def = { .base = STATIC_OBJECT, .name = "own", .size = -1, .methods = methods };

static object *init(void)
{
	return PyModule_Create2(&def, API_VERSION);
}

int main(int argc, char **argv)
{
	PyImport_AppendInittab("own", init);
	return Py_BytesMain(argc, argv);
}
