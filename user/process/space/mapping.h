/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mapping.h - a mapped range of an address space, and what is mapped there: in a live process, a
 * capture or a record.
 */
#ifndef KRAIT_PROCESS_SPACE_MAPPING_H
#define KRAIT_PROCESS_SPACE_MAPPING_H

#include <linux/types.h>

struct module;

struct mapping {
	__u64 start, end, offset; /* [start, end) in the process; in the file */
	union {
		struct module *module; /* in a live process (modules.h) */
		__u64 object; /* in a capture: a number from capture/import/objects.h */
	};
};

#endif /* KRAIT_PROCESS_SPACE_MAPPING_H */
