/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native.h - addresses of one process's native code to functions.
 *
 * The process's space (proc/space.h) is read again when it is outdated, and when an address lies outside
 * of all its code, with pauses that grow up to
 * NATIVE_REFRESH_NS. What a chain of frame pointers says is a caller is often no address of code at
 * all: for one that was data it is read again every NATIVE_REFRESH_DATA_NS, and for others the rarer the
 * longer nothing comes of it, up to NATIVE_REFRESH_RARE_NS; where the kernel reports mappings, always as
 * rarely as that. Answers are cached by address. Mappings of a
 * process that has gone before anyone looked stay unknown.
 */
#ifndef KRAIT_SYMBOL_NATIVE_H
#define KRAIT_SYMBOL_NATIVE_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "proc/space.h"
#include "symbol/native_files.h"

/* For code that ran: the first pause, which doubles up to the next. A program that starts maps libraries. */
#define NATIVE_REFRESH_FIRST_NS 1000000ULL
#define NATIVE_REFRESH_NS 100000000ULL
/* Of what was reported and could not be taken in. */
#define NATIVE_OUTDATED_NS 1000000ULL
#define NATIVE_REFRESH_RARE_NS (128 * NATIVE_REFRESH_NS)
#define NATIVE_REFRESH_DATA_NS (640 * NATIVE_REFRESH_NS)

struct native;
struct unwind_rows;

/* Both are borrowed. NULL and errno on failure. */
struct native *native__new(struct native_files *files, struct space *space);
void native__free(struct native *n);

/*
 * The module that was running there, or NULL where the address is in no code of the process; of_caller: it
 * may be no address of code at all. Nothing is looked up in files.
 */
struct module *native__module(struct native *n, __u64 ip, __u64 now_ns, bool of_caller);
/* The function that was running there, or NULL where the address is in no code of the process. */
struct native_symbol *native__find(struct native *n, __u64 ip, __u64 now_ns);
/* The same for what may be an address of code. */
struct native_symbol *native__find_caller(struct native *n, __u64 ip, __u64 now_ns);
/*
 * For callers that ask for names later. native__place_tag(): the consumer's tag of that address, 0 at first; NULL
 * without memory. native__meet(): the module and where in its file that is; NULL: in no code. It opens the file while
 * the file is there.
 */
__u64 *native__place_tag(struct native *n, __u64 ip);
struct module *native__meet(struct native *n, __u64 ip, __u64 now_ns, __u64 *ret_offset);
/* Has the symbols of a module's file read, and finds others for it where it has none, if that was not done. */
void native__read_symbols(struct native *n, struct module *module);
/* The consumer's, for an address that was found lately, 0 at first; NULL: it is not remembered. */
__u64 *native__tag(struct native *n, __u64 ip);

/* The module that has the address, and where in its file; NULL: none, as far as is known. */
const struct module *native__place(const struct native *n, __u64 ip, __u64 *ret_offset);

/* Reads mappings that were reported and could not be taken in, if it is time. */
void native__catch_up(struct native *n, __u64 now_ns);

/* Of code that was found: is it the function that evaluates a Python frame? */
bool native__is_eval(struct native *n, __u64 ip);
/* Of greenlet's code: may it be the function that takes entry frames out? */
bool native__may_expose(struct native *n, __u64 ip);

/* Code of the interpreter's JIT runs there: in the same page, until others take its place here, is more of it. */
void native__found_jit(struct native *n, __u64 ip);
bool native__is_jit(const struct native *n, __u64 ip);

/*
 * How the code of a mapping is unwound; *ret is valid until the next call. 0; -EAGAIN: not now; -ENODATA: its
 * file does not say; -ENOEXEC: it cannot be read; -errno.
 */
int native__rows(struct native *n, const struct mapping *m, __u64 now_ns, struct unwind_rows *ret);

#endif /* KRAIT_SYMBOL_NATIVE_H */
