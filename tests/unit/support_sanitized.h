/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_sanitized.h - whether sanitizers are active, which make everything ten times slower.
 * Tests with many repetitions do fewer then, and as many in `make check`, for which somebody waits
 * (scripts/run-tests sets KRAIT_MATRIX); `make check-all`, and a test run by hand, do all.
 */
#ifndef KRAIT_TESTS_SUPPORT_SANITIZED_H
#define KRAIT_TESTS_SUPPORT_SANITIZED_H

#include <stdbool.h>
#include <stdlib.h>

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

static inline bool is_short(void)
{
	return SANITIZED || getenv("KRAIT_MATRIX");
}

/* Returns cnt, or a part of it in a short run. */
#define TIMES(cnt) (is_short() ? (cnt) / 4 : (cnt))

#endif /* KRAIT_TESTS_SUPPORT_SANITIZED_H */
