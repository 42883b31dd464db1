/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * py_string.h - converts a PyUnicode in the target to UTF-8.
 *
 * CPython stores a string as Latin-1, UCS-2 or UCS-4 directly after its header (compact), or
 * elsewhere (legacy), as the last C extensions to create such strings do. Names of code objects are
 * always compact; anything else is refused.
 *
 * The result is valid UTF-8 without NUL: a NUL becomes U+2400, a surrogate or a number that is not
 * a code point U+FFFD. All other characters stay, including newlines and escapes: outputs decide
 * how to show them (base/text/printable.h).
 */
#ifndef KRAIT_PYTHON_VALUES_PY_STRING_H
#define KRAIT_PYTHON_VALUES_PY_STRING_H

#include <linux/types.h>

#include "bpf/abi.h"
#include "base/data/memory.h"

/*
 * Characters to keep of a name; a truncated one ends in U+2026. A path cannot be longer (PATH_MAX);
 * a qualified name may be. It also limits what a hostile length can make us read, to 16 KiB.
 */
#define PY_STRING_MAX 4096

/*
 * Returns 0 and *ret malloc'ed, or -EINVAL: not a compact string; -ENOTSUP: the layout lacks the
 * offsets; -ENOMEM; or the error of the read.
 */
int py_string_read(const struct memory *m, const struct py_offsets *offsets, __u64 str_addr,
		   char **ret) __attribute__((warn_unused_result, nonnull));

/*
 * The same for any string: those of subclasses of str are never compact. A NUL becomes the bytes c0
 * 80, a lone surrogate the three bytes that would encode it: for callers that show them as escapes.
 */
int py_string_read_any(const struct memory *m, const struct py_offsets *offsets, __u64 str_addr,
		       char **ret) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PYTHON_VALUES_PY_STRING_H */
