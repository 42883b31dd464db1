/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * charset.h - whether what krait draws (guides, ellipses) may be more than ASCII. Names of programs are UTF-8 in any
 * case.
 */
#ifndef KRAIT_UTIL_CHARSET_H
#define KRAIT_UTIL_CHARSET_H

#include <stdbool.h>

/* By LC_ALL, LC_CTYPE and LANG, in the order of setlocale(3); true where none of them is set. */
bool charset_is_utf8(void);
/* What stands for text that was cut off: one column. */
const char *charset_ellipsis(bool ascii);

#endif /* KRAIT_UTIL_CHARSET_H */
