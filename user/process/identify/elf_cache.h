/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_cache.h - remembers which files contain a Python runtime and where.
 *
 * The key is the file's identity (device, inode, size, mtime, ctime), so a file that has not
 * changed is opened once, whatever process maps it. "No runtime" is remembered, too, which is true
 * of most files. A build ID is only a claim: a crafted copy must not stand in for another file, so
 * each copy is searched separately, by a parser (elf_facts.h), which takes less than a millisecond.
 *
 * Inode and device numbers are reused. A file with a runtime is held open while it is in the cache,
 * so its numbers stay its own; there are at most 64, and the owner with most of them loses one
 * first. Files without a runtime, which are thousands, are not held: their change time, which
 * nobody can set, tells them from later files with the same numbers. On devices without a disk
 * anybody who may mount a tmpfs can bring numbers back, so "no runtime" is believed for a minute
 * only.
 *
 * Must hold: fixed memory; least recently used facts go first.
 */
#ifndef KRAIT_PROCESS_IDENTIFY_ELF_CACHE_H
#define KRAIT_PROCESS_IDENTIFY_ELF_CACHE_H

#include <linux/types.h>
#include <sys/stat.h>

#include "process/elf/elf_runtime.h"

struct dwarf_jobs;
struct elf_facts;
struct elf_cache;

struct elf_cache_stats {
	__u64 hits, opened, evicted;
};

/* NULL and errno on failure. */
struct elf_cache *elf_cache__new(void) __attribute__((warn_unused_result));
/* Starts its helpers, while krait still has all its rights. */
void elf_cache__prepare(struct elf_cache *cache);
void elf_cache__free(struct elf_cache *c);

/*
 * Facts about the file that path leads to and *st describes; it is opened only if nothing is known.
 *  0         *ret is valid until the next call
 *  -ENOEXEC  no runtime in it, or not a regular ELF file
 *  -errno    it could not be opened or read; not remembered
 */
int elf_cache__get(struct elf_cache *c, const char *path, const struct stat *st,
		   const struct elf_runtime **ret) __attribute__((warn_unused_result, nonnull));

/*
 * A process of that file has proved the offsets, so the next one need not, which may be too young
 * to do so. elf: the last result of elf_cache__get().
 */
void elf_cache__keep(struct elf_cache *c, const struct elf_runtime *elf,
		     const struct py_offsets *offsets, enum py_source source)
	__attribute__((nonnull));

/* Closes the files it holds open, which keep file systems from being unmounted. */
void elf_cache__let_go(struct elf_cache *c) __attribute__((nonnull));

/* The reader of the files; lives as long as the cache. */
struct elf_facts *elf_cache__facts(struct elf_cache *c) __attribute__((nonnull));
/* Background reading of these files' debug information; lives as long as the cache. */
struct dwarf_jobs *elf_cache__dwarf_jobs(struct elf_cache *c) __attribute__((nonnull));

const struct elf_cache_stats *elf_cache__stats(const struct elf_cache *c) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_IDENTIFY_ELF_CACHE_H */
