/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mapping.h - a range of an address space that is mapped, and what lies there: of a live process, of a
 * capture, in a record.
 */
#ifndef KRAIT_PROC_MAPPING_H
#define KRAIT_PROC_MAPPING_H

#include <linux/types.h>

struct module;

struct mapping {
	__u64 start, end, offset; /* [start, end) in the process; in the file */
	union {
		struct module *module; /* of a live process (modules.h) */
		__u64 object; /* of a capture: a number that import/objects.h gave */
	};
};

#endif /* KRAIT_PROC_MAPPING_H */
