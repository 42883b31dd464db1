/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot_time.h - moments as people type them.
 *
 *	-10m                     ten minutes ago
 *	14:30, 14:30:05          today; yesterday, if that is still to come
 *	2026-11-23T14:30:00      on this machine's clock; with a blank instead of T, too
 *	2026-11-23T14:30:00Z     UTC
 */
#ifndef KRAIT_CMD_SNAPSHOT_TIME_H
#define KRAIT_CMD_SNAPSHOT_TIME_H

#include <linux/types.h>
#include <stddef.h>

/* *ret: milliseconds since 1970; now: seconds. 0 or -EINVAL. */
int snapshot_time_parse(__s64 *ret, const char *text, __s64 now)
	__attribute__((warn_unused_result));
/* "2026-11-23 14:30:00", on this machine's clock. */
void snapshot_time_format(char *buf, size_t size, __s64 ms);

#endif /* KRAIT_CMD_SNAPSHOT_TIME_H */
