/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * core_notes.h - the notes of a core: threads (NT_PRSTATUS), mapped files (NT_FILE), the process (NT_PRPSINFO).
 */
#ifndef KRAIT_LOOK_CORE_CORE_NOTES_H
#define KRAIT_LOOK_CORE_CORE_NOTES_H

#include "look/core/core_file.h"

/* Reads the notes of one segment. Returns 0, -ENOEXEC or -ENOMEM. */
int core_notes_read(struct core_file *c, const void *notes, size_t len)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_LOOK_CORE_CORE_NOTES_H */
