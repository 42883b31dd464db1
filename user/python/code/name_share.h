/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * name_share.h - what names of code objects of one owner's processes may cost, and have cost.
 */
#ifndef KRAIT_PYTHON_CODE_NAME_SHARE_H
#define KRAIT_PYTHON_CODE_NAME_SHARE_H

#include <linux/types.h>
#include <stdbool.h>

#include "base/share/allowance.h"

struct name_share {
	struct allowance looks; /* into memory */
	bool closed; /* no code object is read that is not known yet */
	__u64 ns; /* spent on new ones so far */
	__u64 bytes; /* of their names and line tables that were new in the dictionary, too */
	__u64 left_out; /* frames that got no name because it was closed */
};

#endif /* KRAIT_PYTHON_CODE_NAME_SHARE_H */
