/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_self.h - this program as one whose native code has names: where its code is in files.
 */
#ifndef KRAIT_TESTS_SUPPORT_SELF_H
#define KRAIT_TESTS_SUPPORT_SELF_H

#include <linux/types.h>

/* Where in its file the code at that address is. Fails where nothing is mapped. */
__u64 self_offset_of(const void *code);

#endif /* KRAIT_TESTS_SUPPORT_SELF_H */
