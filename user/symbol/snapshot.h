/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot.h - a few regions of the target's memory, as a record brought them, as a struct memory.
 *
 * So what the kernel saw is parsed by the very code that parses live memory, with all its checks.
 */
#ifndef KRAIT_SYMBOL_SNAPSHOT_H
#define KRAIT_SYMBOL_SNAPSHOT_H

#include <linux/types.h>

#include "abi.h"
#include "util/memory.h"

/* Borrows *record. A read that is not within one region is -EFAULT. */
struct memory snapshot_memory(const struct record_code *record);

#endif /* KRAIT_SYMBOL_SNAPSHOT_H */
