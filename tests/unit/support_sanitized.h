/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_sanitized.h - whether sanitizers are active, which make everything ten times slower.
 * Tests with many repetitions do fewer then; make check-unit and make coverage do all.
 */
#ifndef KRAIT_TESTS_SUPPORT_SANITIZED_H
#define KRAIT_TESTS_SUPPORT_SANITIZED_H

#include <stdbool.h>

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* Returns cnt, or a part of it under sanitizers. */
#define TIMES(cnt) (SANITIZED ? (cnt) / 4 : (cnt))

#endif /* KRAIT_TESTS_SUPPORT_SANITIZED_H */
