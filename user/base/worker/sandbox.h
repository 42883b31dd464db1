/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sandbox.h - a process that may compute on descriptors that it is given, and nothing else.
 *
 * A process that parses an untrusted file may be controlled by the file's author. So it has
 *  - a user and group id that nobody else has: SANDBOX_ID_FIRST plus its process id, above all
 *    ranges that systems assign (subordinate ids end at 1,879,048,191, signed ids at
 *    2,147,483,647). If that id does not exist (in a user namespace), one of 65,520 to 65,533,
 *    which nobody assigns either;
 *  - no capabilities, no groups, an unlinked empty folder as its root, no core file, no tracing, no
 *    way to gain rights by exec; it dies with its parent;
 *  - limits on memory, CPU time and descriptors;
 *  - only the system calls for memory, for reading descriptors and for its channel.
 * Without CAP_SETUID or CAP_SYS_CHROOT it keeps krait's user id; then the empty root comes from a
 * user namespace, or Landlock forbids all files.
 *
 * Must hold: after success no file can be opened and no process be started, signalled or traced,
 * whatever code runs there.
 */
#ifndef KRAIT_BASE_WORKER_SANDBOX_H
#define KRAIT_BASE_WORKER_SANDBOX_H

#include <linux/types.h>

#define SANDBOX_ID_FIRST 0xe0000000U

struct sandbox_limits {
	__u64 memory; /* bytes of address space; ignored under AddressSanitizer */
	__u32 cpu_seconds; /* over its whole life */
	__u32 fds;
	__u64 file; /* bytes in a file that it writes; 0: none */
};

/* Returns a descriptor of an unlinked empty folder; -1 if that is impossible. */
int sandbox_room(void);

/*
 * For a process with one thread that dies with its parent (PR_SET_PDEATHSIG); call once. room: from
 * sandbox_room(), or -1. Returns 0, or -errno: then the caller must not go on.
 */
int sandbox_enter(int room, const struct sandbox_limits *limits)
	__attribute__((warn_unused_result, nonnull));

/* Likewise, for a process that answers on sockets it was given: it may accept but not connect. */
int sandbox_enter_server(int room, const struct sandbox_limits *limits)
	__attribute__((warn_unused_result, nonnull));

/*
 * Likewise, for a process with network access: it may also have threads and non-listening sockets,
 * and read what is below these paths if the kernel has Landlock. Without Landlock it may read what
 * everybody may. limits->file: bytes that it may write to a descriptor that it was given.
 */
int sandbox_enter_network(const struct sandbox_limits *limits, const char *const *readable,
			  unsigned cnt) __attribute__((warn_unused_result, nonnull));

/*
 * For a process that goes on as a program of its own, without rights: it opens what everybody may
 * read, but starts, signals and traces no process and has no network. A caller who is not root, or may
 * not assign ids, keeps his id.
 */
int sandbox_enter_reader(void) __attribute__((warn_unused_result));

#endif /* KRAIT_BASE_WORKER_SANDBOX_H */
