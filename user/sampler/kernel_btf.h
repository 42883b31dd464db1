/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_btf.h - an excerpt of the kernel's type information, for the relocation of BPF programs.
 *
 * libbpf compares each type that a program refers to with each of the kernel's 150,000 by name, which
 * takes most of the time that loading the programs takes beside the verifier. The excerpt has a few
 * thousand: every type with a name that the programs know, and what lies within these by value, at
 * the same offsets.
 *
 * Must hold: fields, sizes, enumerators, and whether a type exists, are found in the excerpt as in
 * the whole. What a pointer or a function's parameters refer to is left out: no relocation of krait's
 * asks for it.
 */
#ifndef KRAIT_SAMPLER_KERNEL_BTF_H
#define KRAIT_SAMPLER_KERNEL_BTF_H

#include <stddef.h>

struct btf;
struct bytes;

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/*
 * Appends to ret the types of whole (size bytes, the format of linux/btf.h in this machine's byte
 * order) that local's names ask for. 0, or
 *  -EINVAL     whole is malformed
 *  -EOPNOTSUPP it has kinds of types that krait does not know
 *  -ENOMEM
 */
int kernel_btf_excerpt(const struct btf *local, const void *whole, size_t size, struct bytes *ret)
	__attribute__((warn_unused_result, nonnull));

/* Writes the excerpt of the file at path to fd. 0 or -errno: whoever needs types takes the whole. */
int kernel_btf_write(const struct btf *local, const char *path, int fd)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_SAMPLER_KERNEL_BTF_H */
