/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * py_process.h - is this process Python, which version, and where is its runtime?
 *
 * An interpreter is recognised by content, never by file name: a .PyRuntime section or a _PyRuntime
 * symbol in the executable or in any mapped library, opened through the target's own root
 * (/proc/PID/map_files, /proc/PID/root), plus the cookie "xdebugpy" in live memory. Of two copies
 * of libpython, the live one (interpreters_head set) wins.
 *
 * Must hold: nothing here writes to the target or stops it; every byte read is checked.
 */
#ifndef KRAIT_PROCESS_IDENTIFY_PY_PROCESS_H
#define KRAIT_PROCESS_IDENTIFY_PY_PROCESS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "process/elf/elf_entries.h"
#include "process/proc/file_id.h"
#include "process/proc/proc.h"
#include "python/layout/py_offsets.h"

struct elf_cache;

enum py_build {
	PY_BUILD_EXE, /* the runtime is in the executable */
	PY_BUILD_SHARED, /* in a library */
};

/* What identification found. Plain data; strings are NUL-terminated and truncated to fit. */
struct py_process {
	pid_t pid; /* host */
	__u64 start_ticks; /* /proc/PID/stat field 22, clock ticks since boot */
	/*
	 * Which program image it has: where its first stack begins. A fork has it, too, and an exec
	 * makes another one (as far as addresses are random). 0 unknown.
	 */
	__u64 image_addr;
	__u64 runtime_addr; /* &_PyRuntime in the target */
	bool initialised; /* interpreters_head was set when we looked */
	struct py_offsets offsets;
	enum py_source source; /* of the offsets */
	/*
	 * The offsets come from the file, or from krait's own table for the version in the file:
	 * they hold for every process of that file. Otherwise they come from this process, and hold
	 * only for it.
	 */
	bool of_file;
	/* why krait writes no anchors although the version has them; "": it may write */
	char anchors_why[96];
	__u32 version; /* PY_VERSION_HEX as far as known, even on failure; 0 unknown */
	enum py_build build;
	bool debug; /* built with assertions (--with-pydebug) */
	bool alone; /* the interpreter is all that this file has (elf_runtime.c), as far as known */
	__u64 map_start, map_end; /* the mapping of that file's beginning; 0 unknown */
	struct file_id file_id; /* of the file that was read; all 0: it could not be */
	/* with of_file: &_PyRuntime - mm->start_code, if this file is what the process executes */
	__u64 code_delta;
	__u32 entry_cnt; /* with of_file: number of entries, */
	struct elf_entry entries[ELF_ENTRIES_MAX]; /* where the interpreter of a library starts */
	bool file_remote; /* on FUSE or a network: a server decides when a read ends */
	char file[256]; /* its name, as /proc/PID/maps shows it to us */
	/* Whose it is, by host ids, if has_ids. */
	bool has_ids;
	bool dumpable; /* as proc_is_dumpable() */
	uid_t uid, euid;
	uid_t payer; /* proc_payer_at() */
	gid_t gid, egid;
	__u32 group_cnt; /* number of groups; groups has the first PROC_GROUPS_MAX */
	gid_t groups[PROC_GROUPS_MAX];
	__u64 creds_digest; /* of all ids and capabilities; 0 unknown */
	char comm[16];
	/* another interpreter that also runs in it, which krait does not read; "": none is known */
	char second[160];
	char why[256]; /* on failure: one sentence, what was inspected and what was wrong */
};

/* Descriptors of an identified process; -1: not available. */
struct py_process_fds {
	int dir; /* O_PATH of /proc/PID */
	int mem; /* /proc/PID/mem, bound to the program image; maybe writable */
	int file; /* the ELF file that contains the runtime, open for reading; a regular file */
};
#define PY_PROCESS_NO_FDS ((struct py_process_fds){ -1, -1, -1 })

/*
 * Identifies the process. Returns 0 and *ret filled; on failure ret->pid and ret->why are set and
 * the result is
 *  -ESRCH    no such process, or it went away meanwhile
 *  -EACCES   its maps or memory may not be read
 *  -ENOEXEC  not Python: no mapped file has a runtime (exec or dlopen may change that), or too
 *  young to tell: a version without debug offsets that has not begun to run
 *  -EINPROGRESS  Python, but its debug information is still being read: ask again soon
 *  -ENOTSUP  Python, but of a version or layout that krait does not support; why names it
 *  -ENODATA  a runtime was found but its table is garbage
 *  -ENOMEM   and other system errors
 * Descriptors are the caller's on success; there are none on failure.
 */
int py_process_identify_fds(pid_t pid, struct elf_cache *cache, struct py_process *ret,
			    struct py_process_fds *fds)
	__attribute__((warn_unused_result, nonnull));

/*
 * Fills pid, start_ticks, comm and the ids, nothing about Python, and opens dir and mem (-1 if
 * denied): for a process about which the rest is known. Returns 0, -ESRCH, or -errno.
 */
int py_process_open(pid_t pid, struct py_process *ret, struct py_process_fds *fds)
	__attribute__((warn_unused_result, nonnull));
/* Copies the ids between two descriptions of the same process. */
void py_process_copy_ids(struct py_process *to, const struct py_process *from)
	__attribute__((nonnull));
void py_process_fds_close(struct py_process_fds *fds) __attribute__((nonnull));

/* Is its executable nothing but an interpreter? False: that is unknown. */
bool py_process_is_alone(const struct py_process *p) __attribute__((nonnull));
/* May krait write last_profiled_frame there? */
bool py_process_has_anchors(const struct py_process *p) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_IDENTIFY_PY_PROCESS_H */
