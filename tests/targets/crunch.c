/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crunch.c - an extension module whose functions do all their work in CPython's API and call Python
 * back from C: by hand what compilers of Python (Cython, mypyc) produce. For extensions.py; built
 * without frame pointers.
 */
#include "extension.h"

object *PyDict_New(void);
void PyDict_Clear(object *dict);
int PyDict_SetItem(object *dict, object *key, object *value);
object *PyLong_FromLong(long value);
long PyLong_AsLong(object *number);
object *PyNumber_Add(object *a, object *b);
object *PyNumber_Multiply(object *a, object *b);
object *PyObject_CallObject(object *callable, object *args);
object *PyInit_crunch_c(void);
void Py_DecRef(object *o);

static volatile long sink;

NOINLINE static object *add_up(object *dict, object *sum, long i)
{
	object *number = PyLong_FromLong(i * 1000003), *square = PyNumber_Multiply(number, number);
	object *result = PyNumber_Add(sum, square);

	PyDict_SetItem(dict, number, square);
	Py_DecRef(number);
	Py_DecRef(square);
	Py_DecRef(sum);
	sink++;
	return result;
}

static object *crunch(object *self, object *number)
{
	object *dict = PyDict_New(), *sum = PyLong_FromLong(0);
	long n = PyLong_AsLong(number);

	(void)self;
	for (long i = 0; i < n; i++) {
		sum = add_up(dict, sum, i);
		if (i % 500 == 0)
			PyDict_Clear(dict);
	}
	Py_DecRef(dict);
	return sum;
}

static object *call_back(object *self, object *callable)
{
	object *result;

	(void)self;
	for (int i = 0; i < 20; i++)
		Py_DecRef(PyObject_CallObject(callable, NULL));
	result = PyObject_CallObject(callable, NULL);
	sink++;
	return result;
}

static method methods[] = {
	{ "crunch", crunch, METH_O, NULL },
	{ "call_back", call_back, METH_O, NULL },
	{ NULL, NULL, 0, NULL },
};

static module_def def = {
	.base = STATIC_OBJECT, .name = "crunch_c", .size = -1, .methods = methods
};

object *PyInit_crunch_c(void)
{
	return PyModule_Create2(&def, API_VERSION);
}
