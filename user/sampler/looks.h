/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * looks.h - every thread of the tracked processes as the kernel has it now (struct thread_look of bpf/abi.h): an iterator
 * over tasks.
 */
#ifndef KRAIT_SAMPLER_LOOKS_H
#define KRAIT_SAMPLER_LOOKS_H

struct bpf_link;
struct error;
struct krait_bpf;
struct thread_look;

/* Before the programs are loaded. 0 or -errno. */
int looks_prepare(struct krait_bpf *skel) __attribute__((warn_unused_result));
/* Afterwards; the link is the caller's. NULL with *err filled. */
struct bpf_link *looks_attach(struct krait_bpf *skel, struct error *err);
/* The caller frees *ret. Their number, or -errno. */
long looks_take(const struct bpf_link *link, struct thread_look **ret);

#endif /* KRAIT_SAMPLER_LOOKS_H */
