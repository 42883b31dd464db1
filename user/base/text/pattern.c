/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text/pattern.h"

#include <fnmatch.h>
#include <string.h>

bool pattern_is_glob(const char *pattern)
{
	return pattern[strcspn(pattern, "*?[\\")] != '\0';
}

bool pattern_matches(const char *pattern, enum pattern_use use, const char *name)
{
	return (use != PATTERN_GLOB && !strcmp(pattern, name)) ||
	       (use != PATTERN_LITERAL && !fnmatch(pattern, name, 0));
}
