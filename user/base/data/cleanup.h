/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cleanup.h - scope-bound release of memory and file descriptors.
 *
 * A variable marked with one of these macros owns what it holds. Hand ownership out with
 * take_fd() or take_ptr(), which leave the variable empty.
 */
#ifndef KRAIT_BASE_DATA_CLEANUP_H
#define KRAIT_BASE_DATA_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close_(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose_(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup_closedir_(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define cleanup_free __attribute__((cleanup(cleanup_free_)))
#define cleanup_close __attribute__((cleanup(cleanup_close_)))
#define cleanup_fclose __attribute__((cleanup(cleanup_fclose_)))
#define cleanup_closedir __attribute__((cleanup(cleanup_closedir_)))

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline void *take_ptr_(void **p)
{
	void *taken = *p;

	*p = NULL;
	return taken;
}
#define take_ptr(p) ((__typeof__(*(p)))take_ptr_((void **)(p)))

#endif /* KRAIT_BASE_DATA_CLEANUP_H */
