/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/system/library.h"

#include <dlfcn.h>
#include <errno.h>
#ifdef KRAIT_STATIC
#include <nss.h>
#endif

#ifdef KRAIT_STATIC

int library_load(void *ret, const char *const names[], const struct library_function *functions,
		 size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		*(void **)((char *)ret + functions[i].at) = functions[i].function;
	return 0;
}

/* The C library takes these two into static programs (glibc 2.34); any other is a file on the machine. */
void library_prepare(void)
{
	__nss_configure_lookup("passwd", "files");
	__nss_configure_lookup("group", "files");
	__nss_configure_lookup("initgroups", "files");
	__nss_configure_lookup("gshadow", "files");
	__nss_configure_lookup("shadow", "files");
	__nss_configure_lookup("hosts", "files dns");
	__nss_configure_lookup("networks", "files");
	__nss_configure_lookup("protocols", "files");
	__nss_configure_lookup("services", "files");
}

/* In place of the C library's: elfutils would load libdebuginfod, OpenSSL what openssl.cnf names. */
void *dlopen(const char *name, int flags)
{
	return NULL;
}

void *dlsym(void *library, const char *name)
{
	return NULL;
}

int dlclose(void *library)
{
	return 0;
}

char *dlerror(void)
{
	return (char *)"a static program loads no library";
}

#else

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

void library_prepare(void)
{
}

#endif
