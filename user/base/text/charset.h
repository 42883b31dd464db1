/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * charset.h - whether krait may draw guides and ellipses beyond ASCII. Program names are UTF-8 in
 * any case.
 */
#ifndef KRAIT_BASE_TEXT_CHARSET_H
#define KRAIT_BASE_TEXT_CHARSET_H

#include <stdbool.h>

/* Checks LC_ALL, LC_CTYPE and LANG in setlocale(3)'s order; true if none is set. */
bool charset_is_utf8(void);
/* Marks cut text; one column wide. */
const char *charset_ellipsis(bool ascii);

#endif /* KRAIT_BASE_TEXT_CHARSET_H */
