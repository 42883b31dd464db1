// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that becomes Python late: it loads libpython (first argument) long after its start,
 * then calls it from its main thread, for 300 ms of CPU time, and from threads not created by
 * Python, as long in all, each call with a thread state of its own (PyGILState). It has no Python
 * headers, so it looks everything up by name.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int (*run)(const char *);
static int (*ensure)(void);
static void (*release)(int);

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return found;
}

static void *foreign(void *arg)
{
	for (int i = 0; i < 20; i++) {
		int state = ensure();

		run("foreign_top()");
		release(state);
		usleep(1000);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	void *library;

	/* Long for a profiler that looks after 1, 3, 7 ms and so on; the next look is soon. */
	usleep(180000);
	library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_GLOBAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	run = (int (*)(const char *))symbol(library, "PyRun_SimpleString");
	ensure = (int (*)(void))symbol(library, "PyGILState_Ensure");
	release = (void (*)(int))symbol(library, "PyGILState_Release");
	((void (*)(int))symbol(library, "Py_InitializeEx"))(0);
	run("import time\n"
	    "def work(ms):\n"
	    "    end = time.thread_time() + ms / 1000\n"
	    "    while time.thread_time() < end: sum(range(100))\n"
	    "def foreign_top(): work(5)\n"
	    "def main_top(): work(300)\n"
	    "main_top()\n");
	((void *(*)(void))symbol(library, "PyEval_SaveThread"))();
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, foreign, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	/* Until a profiler has looked, which it does less and less often. */
	usleep(800000);
	return 0;
}
