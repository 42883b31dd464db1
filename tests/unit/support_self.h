/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_self.h - this program as a target whose native code has names: positions of its code in
 * files.
 */
#ifndef KRAIT_TESTS_SUPPORT_SELF_H
#define KRAIT_TESTS_SUPPORT_SELF_H

#include <linux/types.h>

/* Returns the file offset of the code at that address. Fails if nothing is mapped there. */
__u64 self_offset_of(const void *code);

#endif /* KRAIT_TESTS_SUPPORT_SELF_H */
