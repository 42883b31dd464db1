/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot_time.h - points in time as people type them.
 *
 * 	-10m                     ten minutes ago
 * 	14:30, 14:30:05          today; yesterday, if that is still to come
 * 	2026-11-23T14:30:00      in this machine's time zone; also with a blank instead of T
 * 	2026-11-23T14:30:00Z     UTC
 */
#ifndef KRAIT_CMD_SNAPSHOT_TIME_H
#define KRAIT_CMD_SNAPSHOT_TIME_H

#include <linux/types.h>
#include <stddef.h>

/* *ret: milliseconds since 1970; now: seconds. Returns 0 or -EINVAL. */
int snapshot_time_parse(__s64 *ret, const char *text, __s64 now)
	__attribute__((warn_unused_result));
/* Formats "2026-11-23 14:30:00" in this machine's time zone. */
void snapshot_time_format(char *buf, size_t size, __s64 ms);

#endif /* KRAIT_CMD_SNAPSHOT_TIME_H */
