/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_places.h - where in an ELF file the kernel has to put a breakpoint for a probe: at an instruction of a function, or
 * where the program itself has marked a place (USDT, the notes of sys/sdt.h in .note.stapsdt).
 *
 * Must hold: the file is untrusted (elf_file.h). A place is the first byte of an instruction, as far as the function's own
 * instructions say from its beginning on: a breakpoint within one would make another instruction of it.
 */
#ifndef KRAIT_NATIVE_NAMES_PROBE_PLACES_H
#define KRAIT_NATIVE_NAMES_PROBE_PLACES_H

#include "process/parser/parser_protocol.h"

/*
 * Where "FUNCTION", "FUNCTION+OFFSET" (PROBE_FUNCTION), "NAME" or "PROVIDER:NAME" (PROBE_MARK) is. Returns 0, with no place
 * if there is none of that name; -EILSEQ: no instruction begins there, or a mark is no nop; -EFAULT: a mark's counter is not
 * in writable data; -EOPNOTSUPP: the function is chosen at run time (IFUNC); -E2BIG: too many places or notes; -ENOEXEC,
 * -errno.
 */
int probe_places(int fd, enum probe_kind kind, const char *name, struct parser_probes *ret)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_NATIVE_NAMES_PROBE_PLACES_H */
