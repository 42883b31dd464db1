/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_fake_interpreter.h - a CPython runtime made of bytes: interpreters, thread states, frames
 * and code objects in the layouts of 3.13, 3.14 and 3.15, at remote addresses of our choice.
 *
 * The walker runs over its memory; reads can be made to fail by number or by address. Placed at its
 * own address, the image is also readable by a BPF program in this very process (tests/bpf).
 */
#ifndef KRAIT_TESTS_SUPPORT_FAKE_INTERPRETER_H
#define KRAIT_TESTS_SUPPORT_FAKE_INTERPRETER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi.h"
#include "base/data/memory.h"

struct fake_version {
	const char *name;
	struct py_offsets offsets;
	__u32 thread_size, frame_size;
	bool tagged; /* f_executable carries tag bits */
};
extern const struct fake_version fake_versions[];
#define FAKE_VERSION_CNT 3

/* _PyInterpreterFrame.owner, enum _frameowner */
enum { FAKE_THREAD, FAKE_GENERATOR, FAKE_FRAME_OBJECT, FAKE_ENTRY, FAKE_CSTACK };

/* PyThreadState._status: initialized, bound, active; with or without bound_gilstate. */
#define FAKE_STATUS_IDLE 0x13
#define FAKE_STATUS_BOUND (FAKE_STATUS_IDLE | 1 << 3)

#define FAKE_MAX_FAULTS 4

struct fake {
	struct memory memory; /* this image, with its faults */
	const struct fake_version *version;
	struct py_offsets offsets;
	__u64 addr; /* remote address of bytes[0] */
	__u8 *bytes;
	void *mapped; /* bytes, and a guard on either side */
	size_t size, used;
	__u64 runtime_addr;
	__u64 code_addr; /* the newest code object */
	__u64 file_addr, lines_addr; /* of all code objects; 0: there is none yet */
	unsigned long reads;
	unsigned long free_reads; /* so many reads neither count nor fail */
	unsigned long fail_at; /* the n-th read from then on fails (1: the next); 0: none */
	__u32 search_part; /* steps of a search per interrupt; 0: no limit */
	__u32 number; /* of the thread that is searched for; 0: unknown */
	struct {
		__u64 addr, len;
	} faults[FAKE_MAX_FAULTS];
	int fault_cnt;
};

/* addr: a page-aligned remote address, or 0 for the bytes' real address. */
struct fake *fake_new(const struct fake_version *version, __u64 addr, size_t size);
void fake_free(struct fake *f);

/* From now on every read that touches the range fails. The range may be in the negative pages. */
void fake_fault(struct fake *f, __u64 addr, __u64 len);
/* No read fails any more, and counting restarts. */
void fake_heal(struct fake *f);

__u64 fake_alloc(struct fake *f, size_t len);
void *fake_at(struct fake *f, __u64 addr);
void fake_put(struct fake *f, __u64 addr, __u64 value);
__u64 fake_get(struct fake *f, __u64 addr);
void fake_put_u8(struct fake *f, __u64 addr, __u8 value);
void fake_put_u32(struct fake *f, __u64 addr, __u32 value);

/* The newest is at the list's head, as in CPython. */
__u64 fake_interp(struct fake *f);
__u64 fake_thread(struct fake *f, __u64 interp_addr, __u64 thread_id, __u32 status);
/* Unlinks a thread state; its bytes stay, as after free(). */
void fake_unlink_thread(struct fake *f, __u64 tstate_addr);

/* Makes a unique code object and its expected fingerprint. */
__u64 fake_code(struct fake *f);
__u32 fake_fingerprint(struct fake *f, __u64 code_addr);

#define FAKE_MAX_FRAMES 5000

/* One thread state's stack, and the expected result of a walk. */
struct fake_stack {
	struct fake *fake;
	__u64 tstate_addr;
	__u32 cnt;
	struct frame frames[FAKE_MAX_FRAMES]; /* root first */
};

/* An idle thread: 3.15 has its base frame, others have nothing. */
void fake_stack_begin(struct fake_stack *s, struct fake *f, __u64 tstate_addr);
/* Pushes a frame, the new leaf. instr_off in bytes; code_addr 0 for an entry frame. */
__u64 fake_push(struct fake_stack *s, int owner, __u64 code_addr, __u32 instr_off);
__u64 fake_push_entry(struct fake_stack *s);
/* Returns the expected frame at that distance from the leaf. */
struct frame *fake_expected(struct fake_stack *s, __u32 index);

#endif /* KRAIT_TESTS_SUPPORT_FAKE_INTERPRETER_H */
