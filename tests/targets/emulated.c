// SPDX-License-Identifier: BSD-2-Clause
/*
 * Gives its thread another thread pointer than the C library and CPython know, as emulators do
 * (valgrind, qemu-user): what lies around it is copied, and pthread_self() still says the old one.
 * For emulated.py.
 */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARCH_SET_FS 0x1002
#define BELOW 65536
#define ABOVE 8192
#define PAGE 4096UL

/* Is that page mapped? There need not be a /proc. */
static int is_mapped(uintptr_t page)
{
	unsigned char resident;

	return !mincore((void *)page, PAGE, &resident);
}

int change_thread_pointer(void);
int change_thread_pointer(void)
{
#ifdef SYS_arch_prctl
	uintptr_t self = (uintptr_t)pthread_self(), from = self & ~(PAGE - 1), to = from + PAGE;
	char *copy;

	while (self - from < BELOW - PAGE && is_mapped(from - PAGE))
		from -= PAGE;
	while (to - self < ABOVE - PAGE && is_mapped(to))
		to += PAGE;
	copy = mmap(NULL, BELOW + ABOVE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (copy == MAP_FAILED)
		return -1;
	memcpy(copy + BELOW - (self - from), (void *)from, to - from);
	return (int)syscall(SYS_arch_prctl, ARCH_SET_FS, copy + BELOW);
#else
	return -1;
#endif
}
