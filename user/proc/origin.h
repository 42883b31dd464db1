/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * origin.h - whose code is in a module.
 */
#ifndef KRAIT_PROC_ORIGIN_H
#define KRAIT_PROC_ORIGIN_H

enum module_origin {
	ORIGIN_OTHER, /* extensions, libraries, an application that embeds Python */
	ORIGIN_INTERPRETER,
	ORIGIN_LIBC, /* at the root: how processes and threads begin */
	ORIGIN_SWITCHER, /* greenlet: runs many stacks at the addresses of one */
};

#endif /* KRAIT_PROC_ORIGIN_H */
