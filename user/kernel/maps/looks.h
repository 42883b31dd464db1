/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * looks.h - every thread of the tracked processes as the kernel has it now (struct thread_look of
 * bpf/abi.h), and their clocks, from iterators over tasks.
 */
#ifndef KRAIT_KERNEL_MAPS_LOOKS_H
#define KRAIT_KERNEL_MAPS_LOOKS_H

struct bpf_link;
struct error;
struct krait_bpf;
struct thread_look;

/* The caller owns the link. NULL with *err filled. */
struct bpf_link *looks_attach(struct krait_bpf *skel, struct error *err);
/* The same for clocks. NULL: this kernel cannot. */
struct bpf_link *looks_attach_clocks(struct krait_bpf *skel);
/* Has them sent through the ring buffer. */
void looks_take_clocks(const struct bpf_link *link);
/* The caller frees *ret. Returns the number of threads, or -errno. */
long looks_take(const struct bpf_link *link, struct thread_look **ret);

#endif /* KRAIT_KERNEL_MAPS_LOOKS_H */
