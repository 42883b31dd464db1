/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * origin.h - whose code a module contains, or is at an address of it.
 */
#ifndef KRAIT_PROCESS_SPACE_ORIGIN_H
#define KRAIT_PROCESS_SPACE_ORIGIN_H

enum module_origin {
	ORIGIN_OTHER, /* extensions, libraries, an application's own code */
	ORIGIN_INTERPRETER,
	ORIGIN_EMBEDDER, /* of a module: the interpreter and other code; a function's name tells */
	ORIGIN_LIBC, /* at the root: starts processes and threads */
	ORIGIN_SWITCHER, /* greenlet: runs many stacks at the addresses of one */
};

#endif /* KRAIT_PROCESS_SPACE_ORIGIN_H */
