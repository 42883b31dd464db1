/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pattern.h - names that users choose by: literally, or by a shell pattern ("*", "?", "[a-z]").
 *
 * Names contain these characters, too ("[lock]", "operator[]", "worker[1]"), so a text is first taken as it is, and
 * as a pattern only if that finds nothing. Who sees names one by one cannot know that yet, and takes either.
 */
#ifndef KRAIT_BASE_TEXT_PATTERN_H
#define KRAIT_BASE_TEXT_PATTERN_H

#include <stdbool.h>

enum pattern_use { PATTERN_LITERAL, PATTERN_GLOB, PATTERN_EITHER };

/* Can it match anything but itself? */
bool pattern_is_glob(const char *pattern);
bool pattern_matches(const char *pattern, enum pattern_use use, const char *name);

#endif /* KRAIT_BASE_TEXT_PATTERN_H */
