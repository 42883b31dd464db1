/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * units.h - numbers with units as people type them: 500ms, 2m, 10k, 64M.
 *
 * Must hold: the whole text is a number and one known unit, and the result fits; otherwise -EINVAL
 * or -ERANGE.
 */
#ifndef KRAIT_BASE_TEXT_UNITS_H
#define KRAIT_BASE_TEXT_UNITS_H

#include <linux/types.h>
#include <stddef.h>

/* ns, us, ms, s (also without unit), m or min, h. Greater than 0. */
int parse_duration(const char *text, __u64 *ret_ns) __attribute__((warn_unused_result));
/* Events or samples: plain, k, M; also "hz" and "khz". Greater than 0. */
int parse_rate(const char *text, __u64 *ret) __attribute__((warn_unused_result));
/* Bytes: plain, k, M, G in powers of 1,024. Greater than 0. */
int parse_size(const char *text, __u64 *ret) __attribute__((warn_unused_result));

/* "45 KiB"; NUL-terminated within size bytes. */
void format_size(char *buf, size_t size, __u64 bytes);
/* "2,761"; NUL-terminated within size bytes. */
void format_count(char *buf, size_t size, __u64 number);

#endif /* KRAIT_BASE_TEXT_UNITS_H */
