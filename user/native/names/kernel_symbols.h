/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_symbols.h - names of the kernel's code, from /proc/kallsyms at the time of the first
 * query.
 *
 * The kernel generates that file during the read, which takes 40 ms, so it is read once for
 * everybody, and not before the first query.
 */
#ifndef KRAIT_NATIVE_NAMES_KERNEL_SYMBOLS_H
#define KRAIT_NATIVE_NAMES_KERNEL_SYMBOLS_H

#include <linux/types.h>
#include <stdbool.h>

#define KALLSYMS "/proc/kallsyms"
/* The module of krait's own BPF programs; those of others have "bpf". */
#define KERNEL_MODULE_OWN "krait"

/*
 * Captures of who may not know where the kernel's code is have stand-ins for its addresses: that, and 16 for each symbol
 * in the order in which they were met. Nothing is there on x86-64 and arm64 (Documentation/arch/x86/x86_64/mm.rst,
 * Documentation/arch/arm64/memory.rst), and perf's markers are beyond.
 */
#define KERNEL_HIDDEN 0xffffffffffe00000ULL
#define KERNEL_HIDDEN_STEP 16
#define KERNEL_HIDDEN_MAX ((~0ULL - KERNEL_HIDDEN) / KERNEL_HIDDEN_STEP - 4096)

struct kernel_symbols;

struct kernel_symbol {
	__u64 start;
	const char *name;
	const char *module; /* "" for the kernel itself */
	__u32 number; /* from 1 on, in the order in which they were found */
	__u64 tag; /* the consumer's; initially 0 */
};

/* For a file like /proc/kallsyms, read at the first look-up. NULL and errno on failure. */
struct kernel_symbols *kernel_symbols__new(const char *path);
void kernel_symbols__free(struct kernel_symbols *s);

/* The tap gets each symbol found from then on, before its finder does; fn may be NULL. */
typedef void (*kernel_tap_fn)(void *ctx, __u64 start, const char *name, const char *module);
void kernel_symbols__tap(struct kernel_symbols *s, kernel_tap_fn fn, void *ctx)
	__attribute__((nonnull(1)));

/* NULL if unknown, or hidden from us (kptr_restrict). Valid until free. */
struct kernel_symbol *kernel_symbols__find(struct kernel_symbols *s, __u64 addr);

/*
 * Code of krait's own BPF programs. Told before the first query, its symbols are krait's, too. What finds no memory is not
 * its own.
 */
void kernel_symbols__own(void *symbols, __u64 start, __u32 size) __attribute__((nonnull));
bool kernel_symbols__is_own(struct kernel_symbols *s, __u64 addr) __attribute__((nonnull));

/*
 * Where the kernel's own code is, from _text to _etext. Returns 0, or -EACCES if that is hidden
 * from us.
 */
int kernel_symbols__text(struct kernel_symbols *s, __u64 *ret_start, __u64 *ret_size)
	__attribute__((warn_unused_result));

#endif /* KRAIT_NATIVE_NAMES_KERNEL_SYMBOLS_H */
