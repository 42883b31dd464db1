/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plain_files.h - executables that are no Python, as far as anybody has seen: the map plain.
 *
 * On a host that starts a hundred commands a second, most of what krait costs is to look at each at once. So
 * an executable whose processes have been looked at often enough, and of which none was ever Python, is plain: its
 * next process is looked at a moment later (follow/process_looks.c), when most have gone. One in which a library
 * begins an interpreter after all is not plain any more, and never again.
 *
 * Each user's processes speak for that user alone, by the real uid at exec: whoever may run a program may hold it
 * before it is Python, as often as it takes. Root's speak for all who have shown nothing themselves, and where one of
 * root's was Python the file is plain for nobody (is_plain() in bpf/lifecycle.bpf.c).
 *
 * A file is its device, inode, size and change time, which nobody can set. It is not held: where all of these come
 * back, on a file system without a disk, a Python is found later, and that ends it.
 *
 * Must hold: each owner's processes make as many entries as util/quota.h allows; then its oldest goes.
 */
#ifndef KRAIT_SAMPLER_PLAIN_FILES_H
#define KRAIT_SAMPLER_PLAIN_FILES_H

#include <linux/types.h>
#include <stdbool.h>

struct plain_key;
struct plain_files;

/* map_fd: borrowed, -1 for no map. NULL when out of memory. */
struct plain_files *plain_files__new(int map_fd);
void plain_files__free(struct plain_files *f);

/* A process of that executable has ended, or become another: it was looked at so often, and was never Python. */
void plain_files__note(struct plain_files *f, const struct plain_key *key, unsigned owner,
		       unsigned looks) __attribute__((nonnull));
/* One of that executable is Python. */
void plain_files__is_python(struct plain_files *f, const struct plain_key *key, unsigned owner)
	__attribute__((nonnull));

/* Is a process of that uid looked at later? As the kernel side decides it; for tests. */
bool plain_files__has(const struct plain_files *f, const struct plain_key *key)
	__attribute__((nonnull));

#endif /* KRAIT_SAMPLER_PLAIN_FILES_H */
