/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * py_string.h - a PyUnicode in the target to UTF-8.
 *
 * CPython stores a string as Latin-1, UCS-2 or UCS-4 directly behind its header (compact) or, for
 * the last makers of such strings in C extensions, elsewhere (legacy); names of code objects are
 * always compact and anything else is refused.
 *
 * What comes out is valid UTF-8 without NUL: a NUL becomes U+2400, a surrogate or a number that is
 * no code point U+FFFD. All other characters stay, newlines and escapes too: outputs decide how to
 * show them (util/printable.h).
 */
#ifndef KRAIT_OBJECT_PY_STRING_H
#define KRAIT_OBJECT_PY_STRING_H

#include <linux/types.h>

#include "abi.h"
#include "util/memory.h"

/*
 * Characters kept of a name, a cut one ends in U+2026: a path cannot be longer (PATH_MAX), a
 * qualified name need not be. Also bounds what a hostile length can make us read, to 16 KiB.
 */
#define PY_STRING_MAX 4096

/*
 * 0 and *ret malloc'ed, or -EINVAL: not a compact string; -ENOTSUP: the layout does not say where;
 * -ENOMEM; what the read gave.
 */
int py_string_read(const struct memory *m, const struct py_offsets *offsets, __u64 str_addr,
		   char **ret) __attribute__((warn_unused_result, nonnull));

/*
 * The same of any string: those of subclasses of str are never compact. A NUL comes as the bytes c0 80, a lone
 * surrogate as the three that it would have: for whoever shows them as escapes.
 */
int py_string_read_any(const struct memory *m, const struct py_offsets *offsets, __u64 str_addr,
		       char **ret) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_OBJECT_PY_STRING_H */
