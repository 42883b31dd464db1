/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/library.h"

#include <dlfcn.h>
#include <errno.h>

int library_load(void *ret, const char *const names[], const struct library_function *functions,
		 size_t cnt)
{
	void *library = NULL;

	for (; *names && !library; names++)
		library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return -ENOSYS;
	for (size_t i = 0; i < cnt; i++) {
		void *function = dlsym(library, functions[i].name);

		if (!function)
			return -ENOSYS;
		*(void **)((char *)ret + functions[i].at) = function;
	}
	return 0;
}
