/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_sanitized.h - whether the sanitizers watch, under which everything takes ten times as long. A test that does the
 * same thing very often does it less often then: make check-unit and make coverage do all of it.
 */
#ifndef KRAIT_TESTS_SUPPORT_SANITIZED_H
#define KRAIT_TESTS_SUPPORT_SANITIZED_H

#include <stdbool.h>

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* So many times; a part of them under sanitizers. */
#define TIMES(cnt) (SANITIZED ? (cnt) / 4 : (cnt))

#endif /* KRAIT_TESTS_SUPPORT_SANITIZED_H */
