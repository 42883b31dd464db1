/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text/charset.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool charset_is_utf8(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = getenv(variables[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return true;
}

const char *charset_ellipsis(bool ascii)
{
	return ascii ? "~" : "…";
}
