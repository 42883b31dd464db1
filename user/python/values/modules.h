/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * modules.h - an attribute of a module that an interpreter has imported.
 */
#ifndef KRAIT_PYTHON_VALUES_MODULES_H
#define KRAIT_PYTHON_VALUES_MODULES_H

#include "python/values/object_text.h"

/*
 * The address of sys.modules[module].__dict__[name]; 0: it has not been imported, has no such attribute, or was not found.
 * t: with layout and memory. runtime_addr: of the table of debug offsets, from 3.13 on. module, name: ASCII, 64 characters
 * at most.
 */
__u64 module_attribute(struct object_text *t, __u64 runtime_addr, __u64 interp_addr,
		       const char *module, const char *name) __attribute__((nonnull));

#endif /* KRAIT_PYTHON_VALUES_MODULES_H */
