/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native.h - addresses of one process's native code to functions.
 *
 * The process's executable mappings are read when it is met and again when an address lies outside of
 * all of them (a library was loaded meanwhile), at most every NATIVE_REFRESH_NS. What a chain of frame
 * pointers says is a caller is often no address of code at all: for one that was data they are read
 * again every NATIVE_REFRESH_DATA_NS, and for others the rarer the longer nothing comes of it, up to
 * NATIVE_REFRESH_RARE_NS. Answers are cached by address. Mappings of a process that has gone before
 * anyone looked stay unknown.
 *
 * NEEDSWORK: another library at the place of one that was unloaded, or of data, is noticed only when the
 * mappings are read for some other reason.
 */
#ifndef KRAIT_SYMBOL_NATIVE_H
#define KRAIT_SYMBOL_NATIVE_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "symbol/code_maps.h"
#include "symbol/native_files.h"

#define NATIVE_REFRESH_NS 100000000ULL
#define NATIVE_REFRESH_RARE_NS (128 * NATIVE_REFRESH_NS)
#define NATIVE_REFRESH_DATA_NS (640 * NATIVE_REFRESH_NS)

struct native;
struct probed;

/*
 * owner: who pays for what it takes (bpf/share.h). runtime_addr: of the interpreter, or 0 where it is
 * in the executable. files and probed are borrowed; probed is what the process is read through, NULL only for one that is trusted. NULL and errno on
 * failure.
 */
struct native *native__new(struct native_files *files, struct probed *probed, pid_t pid,
			   __u64 runtime_addr, unsigned owner);
/* A child that has its parent's memory. */
struct native *native__fork(const struct native *parent, struct probed *probed, pid_t pid);
void native__free(struct native *n);

/* The function that was running there, or NULL where the address is in no code of the process. */
struct native_symbol *native__find(struct native *n, __u64 ip, __u64 now_ns);
/* The same for what may be an address of code. */
struct native_symbol *native__find_caller(struct native *n, __u64 ip, __u64 now_ns);

/* Of code that was found: where its return address is; see elf_symbols__return_word(). */
int native__return_word(struct native *n, __u64 ip);

/* The mapping of code that has that address, as far as is known; NULL none. */
const struct native_mapping *native__mapping_at(const struct native *n, __u64 ip);
/* Another one after every change of the mappings, and for other mappings. */
__u64 native__digest(const struct native *n);
/* All mappings by address. *ret_serial is another one after every change. */
const struct native_mapping *native__mappings(const struct native *n, unsigned *ret_cnt,
					      __u32 *ret_serial);

#endif /* KRAIT_SYMBOL_NATIVE_H */
