/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_btf.h - an excerpt of the kernel's type information, for relocating BPF programs.
 *
 * libbpf compares each type that a program refers to with each of the kernel's 150,000 by name,
 * which takes most of the loading time besides the verifier. The excerpt has a few thousand: every
 * type with a name that the programs know, and the types contained in these by value, at the same
 * offsets.
 *
 * Must hold: fields, sizes, enumerators, and whether a type exists, are the same in the excerpt as
 * in the whole. Targets of pointers and types of function parameters are left out: no relocation of
 * krait's needs them.
 */
#ifndef KRAIT_KERNEL_SAMPLER_KERNEL_BTF_H
#define KRAIT_KERNEL_SAMPLER_KERNEL_BTF_H

#include <linux/types.h>
#include <stddef.h>

struct btf;
struct bytes;

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/*
 * Appends to ret the types of whole (size bytes, in the format of linux/btf.h and this machine's
 * byte order) that have a name from local. *ret_func: the number that the function of that name has
 * in whole; 0: there is none. Returns 0, or
 *  -EINVAL     whole is malformed
 *  -EOPNOTSUPP it has kinds of types that krait does not know
 *  -ENOMEM
 */
int kernel_btf_excerpt(const struct btf *local, const void *whole, size_t size, struct bytes *ret,
		       const char *func, __u32 *ret_func)
	__attribute__((warn_unused_result, nonnull));

/*
 * Writes the excerpt of the file at path to fd. Returns 0 or -errno: then the caller uses the
 * whole.
 */
int kernel_btf_write(const struct btf *local, const char *path, int fd, const char *func,
		     __u32 *ret_func) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_KERNEL_SAMPLER_KERNEL_BTF_H */
