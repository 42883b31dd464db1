/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vdso.h - the kernel's code in every process, which is in no file (vdso(7)).
 */
#ifndef KRAIT_BASE_SYSTEM_VDSO_H
#define KRAIT_BASE_SYSTEM_VDSO_H

/* Its name in the lists of mappings. */
#define VDSO_NAME "[vdso]"

/*
 * krait's own as an ELF file in memory: it is the same in all processes of this machine. Returns a
 * descriptor, the caller's; -ENODATA: there is none; or -errno.
 */
int vdso_image(void) __attribute__((warn_unused_result));

#endif /* KRAIT_BASE_SYSTEM_VDSO_H */
