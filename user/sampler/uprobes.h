/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uprobes.h - notices interpreters that live in a shared library when they begin.
 *
 * A libpython is mapped by the loader, or much later by dlopen(), when no tracepoint of ours fires. So
 * the functions of it that begin an interpreter get a probe, once per file: by inode, so it meets
 * every process, in any container, also those that do not exist yet. The probe's cookie says how far
 * the runtime is from the function (bpf/lifecycle.bpf.c, runtime_begin()).
 *
 * Must hold: the kernel takes the probes away when krait ends, however that happens; what cannot be
 * probed is found all the same, by looking at the process.
 */
#ifndef KRAIT_SAMPLER_UPROBES_H
#define KRAIT_SAMPLER_UPROBES_H

struct binary_info;
struct bpf_program;
struct uprobes;

/* entries_fd: the map entries. NULL when out of memory. */
struct uprobes *uprobes__new(const struct bpf_program *program, int entries_fd);
void uprobes__free(struct uprobes *u);

/*
 * Probes the library that fd has open, unless that was done before; runtime_delta of *info is filled
 * here. 0, -ENOENT when it exports no such function, -ENOSPC when there are too many, -errno.
 */
int uprobes__attach(struct uprobes *u, int fd, const struct binary_info *info);

#endif /* KRAIT_SAMPLER_UPROBES_H */
