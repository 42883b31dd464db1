/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_text.h - where the running kernel's code is, as /proc/kallsyms says.
 */
#ifndef KRAIT_PERFDATA_KERNEL_TEXT_H
#define KRAIT_PERFDATA_KERNEL_TEXT_H

#include <linux/types.h>

/* From _text to _etext. 0; -EACCES where addresses are hidden from us; -errno. */
int kernel_text_find(__u64 *ret_start, __u64 *ret_size) __attribute__((warn_unused_result));

#endif /* KRAIT_PERFDATA_KERNEL_TEXT_H */
