/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plain_files.h - executables that, as far as anybody has seen, are not Python: the map plain.
 *
 * On a host that starts a hundred commands a second, most of krait's cost is looking at each at
 * once. So an executable whose processes have been looked at often enough, none of which was ever
 * Python, is plain: its next process is looked at a moment later (record/follow/process_looks.c), when
 * most have already ended. If a library starts an interpreter in one after all, the executable is
 * never plain again.
 *
 * What a user's processes show counts for that user alone, by the real uid at exec, because anyone
 * who may run a program can stop it before it becomes Python, as often as it takes. Root's count
 * for all users whose own processes have shown nothing, and if one of root's was Python the file is
 * plain for nobody (is_plain() in bpf/lifecycle.bpf.c).
 *
 * A file is identified by device, inode, size and change time, which nobody can set. It is not kept
 * open. If all of these are reused, on a file system without a disk, a Python process is found
 * later, and that ends it.
 *
 * Must hold: each owner's processes make at most as many entries as base/share/quota.h allows; beyond
 * that its oldest goes.
 */
#ifndef KRAIT_KERNEL_MAPS_PLAIN_FILES_H
#define KRAIT_KERNEL_MAPS_PLAIN_FILES_H

#include <linux/types.h>
#include <stdbool.h>

struct plain_key;
struct plain_files;

/* map_fd: borrowed, -1: no map. NULL: out of memory. */
struct plain_files *plain_files__new(int map_fd);
void plain_files__free(struct plain_files *f);

/*
 * A process of that executable has ended, or executed something else, without ever being Python.
 * looks: how often it was looked at.
 */
void plain_files__note(struct plain_files *f, const struct plain_key *key, unsigned owner,
		       unsigned looks) __attribute__((nonnull));
/* A process of that executable is Python. */
void plain_files__is_python(struct plain_files *f, const struct plain_key *key, unsigned owner)
	__attribute__((nonnull));

/* Is a process of that uid looked at later? Decides as the kernel side does; for tests. */
bool plain_files__has(const struct plain_files *f, const struct plain_key *key)
	__attribute__((nonnull));

#endif /* KRAIT_KERNEL_MAPS_PLAIN_FILES_H */
