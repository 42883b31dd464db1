/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_process.h - live processes to identify: interpreters of scripts/pythons in their own
 * roots, copies under other names, and processes that are not Python.
 */
#ifndef KRAIT_TESTS_SUPPORT_PROCESS_H
#define KRAIT_TESTS_SUPPORT_PROCESS_H

#include "support_pythons.h"
#include "process/identify/elf_cache.h"
#include "process/identify/py_process.h"

#define PYTHON_MAX 32
#define NOBODY 65534
#define WAIT_CODE "import os, time; os.write(1, b'r'); time.sleep(60)"

struct probed;
struct remote;

/* The memory of a live process, as remote__open_at(). */
struct remote *process_memory(pid_t pid);

struct fixture {
	struct elf_cache *cache;
	struct python pythons[PYTHON_MAX]; /* 3.13 and later */
	size_t cnt;
	struct py_process process;
};

struct start {
	const char *root, *path, *code;
	const char *library_path; /* or NULL */
	uid_t uid;
};

struct copied {
	char dir[512], file[600]; /* as we see it */
	struct python python; /* as it runs */
};

/* For cmocka: *state is the fixture. */
int process_setup(void **state);
int process_teardown(void **state);

/*
 * Starts it and waits for its first byte of output. Returns the pid, or -1 if it ended without
 * output.
 */
pid_t process_start(const struct start *s);
pid_t process_start_python(const struct python *p);
pid_t process_start_sleep(void);
void process_stop(pid_t pid);
/*
 * Forks a copy of this process that waits to be killed and dies with its parent. It has these ids (0: its own) when this
 * returns.
 */
pid_t process_fork_waiting(uid_t real, uid_t effective);

/* Like probed__ids(), however long the prober waits for a CPU. */
const struct py_process *process_ids(struct probed *p);

int process_identify(struct fixture *f, pid_t pid);
/*
 * Identifies without the capability for map_files: as nobody, a process of nobody. Runs in a child,
 * since nobody cannot become root again.
 */
int identify_as_nobody(struct fixture *f, pid_t pid);
void process_check_python(const struct fixture *f, const struct python *p);

void copy_file(const char *from, const char *to);
/* Returns an executable that contains the interpreter; NULL after a message. */
const struct python *find_exe(const struct fixture *f);
/* Copies it to a folder whose name cannot be guessed. */
void copy_exe(const struct python *p, const char *name, struct copied *ret);
void remove_copy(const struct copied *c);

#endif /* KRAIT_TESTS_SUPPORT_PROCESS_H */
