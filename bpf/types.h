/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * types.h - integers, bool and what inlines, on either side: in the kernel everything that libbpf has, on the host what
 * headers of this folder need there, too.
 */
#ifndef KRAIT_BPF_TYPES_H
#define KRAIT_BPF_TYPES_H

#ifdef __bpf__
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#else
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define barrier() asm volatile("" ::: "memory")
#endif

#endif /* KRAIT_BPF_TYPES_H */
