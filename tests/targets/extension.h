/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * extension.h - the parts of CPython's headers that an extension module needs, for targets that are
 * built once and serve every version: the layout of PyModuleDef and PyMethodDef has not changed.
 * Built with -DFREE_THREADED for interpreters without a GIL, whose objects begin with other counts.
 */
#ifndef KRAIT_TARGETS_EXTENSION_H
#define KRAIT_TARGETS_EXTENSION_H

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

#define NOINLINE __attribute__((noinline))

#endif /* KRAIT_TARGETS_EXTENSION_H */
