/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native.h - from addresses of one process's native code to functions.
 *
 * The process's space (process/space/space.h) is read again when it is outdated, and when an address lies
 * outside of all its code, with pauses that grow up to NATIVE_REFRESH_NS. An address that a chain
 * of frame pointers claims to be a caller is often no code at all. If it was data, the space is
 * read again every NATIVE_REFRESH_DATA_NS; otherwise less and less often while that finds nothing,
 * down to every NATIVE_REFRESH_RARE_NS. If the kernel reports mappings, it is always as rare as
 * that. Answers are cached by address. Mappings of a process that has gone before anyone looked
 * stay unknown.
 */
#ifndef KRAIT_NATIVE_NAMES_NATIVE_H
#define KRAIT_NATIVE_NAMES_NATIVE_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "process/space/space.h"
#include "native/names/native_files.h"

/*
 * For code that ran: the first pause, which doubles up to the next. A starting program maps
 * libraries.
 */
#define NATIVE_REFRESH_FIRST_NS 1000000ULL
#define NATIVE_REFRESH_NS 100000000ULL
/* For reported mappings that could not be taken in. */
#define NATIVE_OUTDATED_NS 1000000ULL
#define NATIVE_REFRESH_RARE_NS (128 * NATIVE_REFRESH_NS)
#define NATIVE_REFRESH_DATA_NS (640 * NATIVE_REFRESH_NS)

struct native;
struct unwind_rows;

/* Both are borrowed. NULL and errno on failure. */
struct native *native__new(struct native_files *files, struct space *space);
void native__free(struct native *n);

/*
 * The module that was running there; NULL: the address is in no code of the process. of_caller: it
 * may not be a code address at all. Looks up nothing in files.
 */
struct module *native__module(struct native *n, __u64 ip, __u64 now_ns, bool of_caller);
/*
 * The function that was running there; NULL: the address is in no code of the process. *ret_later: it has no name for
 * now, since its file cannot be read at this moment; whoever asks again may get it.
 */
struct native_symbol *native__find(struct native *n, __u64 ip, __u64 now_ns, bool *ret_later);
/*
 * For callers that ask for names later. native__place_tag(): the consumer's tag of that address,
 * initially 0; NULL: out of memory. native__meet(): the module and the offset in its file; NULL: in
 * no code. It opens the file while the file exists.
 */
__u64 *native__place_tag(struct native *n, __u64 ip);
struct module *native__meet(struct native *n, __u64 ip, __u64 now_ns, __u64 *ret_offset);
/* Reads the symbols of a module's file, and looks elsewhere if it has none, unless that was done. */
void native__read_symbols(struct native *n, struct module *module);
/* The consumer's tag for a recently looked-up address, initially 0; NULL: no longer cached. */
__u64 *native__tag(struct native *n, __u64 ip);

/* The module that contains the address, and the offset in its file; NULL: none known. */
const struct module *native__place(const struct native *n, __u64 ip, __u64 *ret_offset);

/* Reads reported mappings that could not be taken in, if it is time. */
void native__catch_up(struct native *n, __u64 now_ns);

/*
 * Whose the code is at that address of that module, as space__origin(); what is not known yet
 * (*ret_later) in an application that has the interpreter inside counts as the application's.
 */
enum module_origin native__origin(struct native *n, const struct module *module, __u64 ip,
				  bool *ret_later);
/*
 * For code that was found: is it the function that evaluates a Python frame? *ret_later: not known
 * yet.
 */
bool native__is_eval(struct native *n, __u64 ip, bool *ret_later);
/* For the interpreter's: may an evaluation have called it whose frame is not in the chain? */
bool native__may_check_call(struct native *n, __u64 ip);
/* For greenlet's code: may it be the function that unlinks entry frames? */
bool native__may_expose(struct native *n, __u64 ip);

/*
 * Code of the interpreter's JIT runs there: the rest of that page counts as such, too, until
 * another page takes its place in the table.
 */
void native__found_jit(struct native *n, __u64 ip);
bool native__is_jit(const struct native *n, __u64 ip);

/*
 * Whose its file is, by a host uid, if he decides who may map it; 0: everybody may, it is root's, or
 * it cannot be opened, or not now.
 */
uid_t native__file_payer(struct native *n, const struct mapping *m, __u64 now_ns);

/*
 * How to unwind the code of a mapping; *ret is valid until the next call. Returns 0; -EAGAIN: not
 * now; -ENODATA: its file does not say; -ENOEXEC: it cannot be read; -errno.
 */
int native__rows(struct native *n, const struct mapping *m, __u64 now_ns, struct unwind_rows *ret);

#endif /* KRAIT_NATIVE_NAMES_NATIVE_H */
