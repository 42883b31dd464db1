/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * programs.h - krait's BPF programs: opened, loaded, and why this kernel refuses them.
 */
#ifndef KRAIT_SAMPLER_PROGRAMS_H
#define KRAIT_SAMPLER_PROGRAMS_H

struct error;
struct krait_bpf;

/*
 * The caller destroys them. *ret_types_fd: the caller closes it once they are loaded; -1 none. NULL with
 * errno.
 */
struct krait_bpf *programs_open(int *ret_types_fd) __attribute__((warn_unused_result, nonnull));

/* 0, or an error that says what to do. */
int programs_load(struct krait_bpf *skel, struct error *err)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_SAMPLER_PROGRAMS_H */
