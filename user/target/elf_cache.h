/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_cache.h - remembers which files hold a Python runtime and where.
 *
 * By the file's identity (device, inode, size, mtime, ctime) alone, so a file that has not changed is
 * opened once, whatever process maps it; "none" is remembered too, and most files are that. A build ID
 * is a claim: a crafted copy must not stand in for another file, so each copy is searched for itself, by a
 * parser (elf_facts.h), which takes less than a millisecond.
 *
 * Numbers of inodes and devices come back. A file with a runtime is held open while it is known, so its
 * numbers stay its own; there are 64 at most, and whoever's files are most of them loses one first.
 * Files without, which are thousands, are not: the change time, which nobody can set, tells them from
 * what has their number later. On devices without a disk, whose numbers anybody who may mount a tmpfs can
 * make come back, "none" is believed for a minute only.
 *
 * Must hold: fixed memory; least recently used facts go first.
 */
#ifndef KRAIT_TARGET_ELF_CACHE_H
#define KRAIT_TARGET_ELF_CACHE_H

#include <linux/types.h>
#include <sys/stat.h>

#include "target/elf_runtime.h"

struct dwarf_jobs;
struct elf_facts;
struct elf_cache;

struct elf_cache_stats {
	__u64 hits, opened, evicted;
};

/* NULL and errno on failure. */
struct elf_cache *elf_cache__new(void) __attribute__((warn_unused_result));
/* Starts what it works with, while krait has all its rights. */
void elf_cache__prepare(struct elf_cache *cache);
void elf_cache__free(struct elf_cache *c);

/*
 * Facts about the file that path leads to and *st describes; it is opened only if nothing is known.
 *  0         *ret valid until the next call
 *  -ENOEXEC  no runtime in it, or not a regular ELF file
 *  -errno    it could not be opened or read; not remembered
 */
int elf_cache__get(struct elf_cache *c, const char *path, const struct stat *st,
		   const struct elf_runtime **ret) __attribute__((warn_unused_result, nonnull));

/*
 * A process of that file has proved the offsets: the next one need not, which may not even have begun
 * to. elf is what elf_cache__get() gave last.
 */
void elf_cache__keep(struct elf_cache *c, const struct elf_runtime *elf,
		     const struct py_offsets *offsets, enum py_source source)
	__attribute__((nonnull));

/* Forgets what it holds open: as long as it does, file systems cannot be unmounted. */
void elf_cache__let_go(struct elf_cache *c) __attribute__((nonnull));

/* What reads the files; valid as long as the cache. */
struct elf_facts *elf_cache__facts(struct elf_cache *c) __attribute__((nonnull));
/* Debug information of these files that is being read; valid as long as the cache. */
struct dwarf_jobs *elf_cache__dwarf_jobs(struct elf_cache *c) __attribute__((nonnull));

const struct elf_cache_stats *elf_cache__stats(const struct elf_cache *c) __attribute__((nonnull));

#endif /* KRAIT_TARGET_ELF_CACHE_H */
