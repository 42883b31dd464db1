// SPDX-License-Identifier: BSD-2-Clause
/*
 * Runs two interpreters of different libraries: uses of both, as a server does whose modules are linked with one
 * each. two LIBRARY HOME LIBRARY HOME
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef int run_fn(const char *text);

/* Starts an interpreter whose symbols no other one sees. */
static run_fn *start(const char *library, const char *home)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	void (*begin)(int) = NULL;

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	setenv("PYTHONHOME", home, 1);
	*(void **)&begin = dlsym(lib, "Py_InitializeEx");
	begin(0);
	return (run_fn *)(long)dlsym(lib, "PyRun_SimpleString");
}

int main(int argc, char **argv)
{
	run_fn *first, *second;

	if (argc != 5)
		return 1;
	first = start(argv[1], argv[2]);
	second = start(argv[3], argv[4]);
	second("x = 1\n");
	printf("READY\n");
	fflush(stdout);
	return first("def works():\n    while True:\n        sum(range(1000))\nworks()\n");
}
