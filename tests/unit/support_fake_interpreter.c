/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_fake_interpreter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bpf/python/fingerprint.h"
#include "bpf/read.h"

enum {
	RUNTIME_SIZE = 1024,
	INTERP_SIZE = 8192,
	CODE_SIZE = 256,
	BASE_FRAME_AT = 888,
	GUARD = 1 << 16
};

static int read_image(void *ctx, __u64 addr, void *dst, size_t size)
{
	struct fake *f = ctx;
	bool is_free = f->free_reads && f->free_reads--;
	bool fails = !is_free && f->fail_at && --f->fail_at == 0;

	f->reads += !is_free;
	memset(dst, 0xaa, size); /* nobody may rely on what a failed read leaves */
	for (int i = 0; i < f->fault_cnt; i++)
		fails |= addr < f->faults[i].addr + f->faults[i].len &&
			 addr + size > f->faults[i].addr;
	if (fails || addr < f->addr || addr - f->addr > f->size ||
	    size > f->size - (addr - f->addr))
		return -EFAULT;
	memcpy(dst, f->bytes + (addr - f->addr), size);
	return 0;
}

struct fake *fake_new(const struct fake_version *version, __u64 addr, size_t size)
{
	struct fake *f = calloc(1, sizeof(*f));
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (addr ? MAP_NORESERVE : MAP_POPULATE);

	if (!f)
		abort();
	f->version = version;
	f->offsets = version->offsets;
	f->size = size;
	/* What lies beside the image is readable neither here nor by the kernel. */
	f->mapped = mmap(NULL, size + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f->mapped == MAP_FAILED)
		abort();
	f->bytes = mmap((char *)f->mapped + GUARD, size, PROT_READ | PROT_WRITE, flags | MAP_FIXED,
			-1, 0);
	if (f->bytes == MAP_FAILED)
		abort();
	f->addr = addr ? addr : (__u64)(unsigned long)f->bytes;
	f->runtime_addr = fake_alloc(f, RUNTIME_SIZE);
	f->memory = (struct memory){ read_image, f };
	return f;
}

void fake_free(struct fake *f)
{
	munmap(f->mapped, f->size + 2 * GUARD);
	free(f);
}

void fake_fault(struct fake *f, __u64 addr, __u64 len)
{
	if (f->fault_cnt == FAKE_MAX_FAULTS)
		abort();
	f->faults[f->fault_cnt].addr = addr;
	f->faults[f->fault_cnt++].len = len;
}

void fake_heal(struct fake *f)
{
	f->fault_cnt = 0;
	f->fail_at = 0;
	f->reads = 0;
}

__u64 fake_alloc(struct fake *f, size_t len)
{
	__u64 addr = f->addr + f->used;

	len = (len + 15) & ~(size_t)15;
	if (len > f->size - f->used)
		abort();
	f->used += len;
	return addr;
}

void *fake_at(struct fake *f, __u64 addr)
{
	if (addr < f->addr || addr - f->addr >= f->size)
		abort();
	return f->bytes + (addr - f->addr);
}

void fake_put(struct fake *f, __u64 addr, __u64 value)
{
	memcpy(fake_at(f, addr), &value, sizeof(value));
}

__u64 fake_get(struct fake *f, __u64 addr)
{
	__u64 value;

	memcpy(&value, fake_at(f, addr), sizeof(value));
	return value;
}

void fake_put_u8(struct fake *f, __u64 addr, __u8 value)
{
	memcpy(fake_at(f, addr), &value, sizeof(value));
}

void fake_put_u32(struct fake *f, __u64 addr, __u32 value)
{
	memcpy(fake_at(f, addr), &value, sizeof(value));
}

__u64 fake_interp(struct fake *f)
{
	__u64 addr = fake_alloc(f, INTERP_SIZE);
	__u64 head_addr = f->runtime_addr + f->offsets.runtime.interpreters_head;

	fake_put(f, addr + f->offsets.interp.next, fake_get(f, head_addr));
	fake_put(f, head_addr, addr);
	return addr;
}

__u64 fake_thread(struct fake *f, __u64 interp_addr, __u64 thread_id, __u32 status)
{
	__u64 addr = fake_alloc(f, f->version->thread_size);
	__u64 head_addr = interp_addr + f->offsets.interp.threads_head;
	__u64 next_addr = fake_get(f, head_addr);

	fake_put(f, addr + f->offsets.thread.next, next_addr);
	if (next_addr)
		fake_put(f, next_addr + f->offsets.thread.prev, addr);
	fake_put(f, head_addr, addr);
	fake_put(f, addr + f->offsets.thread.interp, interp_addr);
	fake_put(f, addr + f->offsets.thread.thread_id, thread_id);
	fake_put_u32(f, addr + f->offsets.thread.status, status);
	return addr;
}

void fake_unlink_thread(struct fake *f, __u64 tstate_addr)
{
	const struct py_offsets *off = &f->offsets;
	__u64 prev_addr = fake_get(f, tstate_addr + off->thread.prev);
	__u64 next_addr = fake_get(f, tstate_addr + off->thread.next);
	__u64 interp_addr = fake_get(f, tstate_addr + off->thread.interp);

	if (next_addr)
		fake_put(f, next_addr + off->thread.prev, prev_addr);
	fake_put(f,
		 prev_addr ? prev_addr + off->thread.next : interp_addr + off->interp.threads_head,
		 next_addr);
}

/* An ASCII string, or bytes, of that length; its first word is the value. */
static __u64 fake_text(struct fake *f, bool is_string, __u64 value, __u32 length)
{
	const struct py_offsets *off = &f->offsets;
	__s32 header = is_string ? off->unicode.ascii_size : off->bytes.ob_sval;
	__u64 addr = fake_alloc(f, (__u32)header + length + 1);

	fake_put(f, addr + (is_string ? off->unicode.length : off->bytes.ob_size), length);
	if (is_string) /* kind 1, compact, ascii */
		fake_put_u32(f, addr + off->unicode.state,
			     (1 | 1 << 3 | 1 << 4) << PYOFF_STRING_STATE_SHIFT(off));
	fake_put(f, addr + header, value);
	return addr;
}

__u64 fake_code(struct fake *f)
{
	const struct py_offsets *off = &f->offsets;
	__s32 name = off->code.qualname == PYOFF_ABSENT ? off->code.name : off->code.qualname;
	__u64 addr = fake_alloc(f, CODE_SIZE);

	if (!f->file_addr) {
		f->file_addr = fake_text(f, true, 0x6161, 20);
		f->lines_addr = fake_text(f, false, 0x6262, 8);
	}
	fake_put(f, addr + off->code.filename, f->file_addr);
	fake_put(f, addr + name, fake_text(f, true, addr, 11));
	fake_put(f, addr + off->code.linetable, f->lines_addr);
	fake_put_u32(f, addr + off->code.firstlineno, addr & 0xffff);
	f->code_addr = addr;
	return addr;
}

/* Without faults, and not counted. */
static int read_bytes(void *ctx, __u64 addr, void *dst, size_t size)
{
	struct fake *f = ctx;

	if (addr < f->addr || addr - f->addr > f->size || size > f->size - (addr - f->addr))
		return -EFAULT;
	memcpy(dst, f->bytes + (addr - f->addr), size);
	return 0;
}

__u32 fake_fingerprint(struct fake *f, __u64 code_addr)
{
	struct memory memory = { read_bytes, f };

	return code_fingerprint(&memory, &f->offsets, fake_at(f, code_addr));
}

static void fake_leaf(struct fake_stack *s, __u64 addr, const struct frame *expected)
{
	struct fake *f = s->fake;

	if (s->cnt == FAKE_MAX_FRAMES)
		abort();
	if (s->cnt)
		fake_put(f, addr + f->offsets.frame.previous, s->frames[s->cnt - 1].frame_addr);
	fake_put(f, s->tstate_addr + f->offsets.thread.current_frame, addr);
	s->frames[s->cnt++] = *expected;
}

static __u64 put_entry(struct fake_stack *s, __u64 addr)
{
	struct fake *f = s->fake;
	struct frame expected = { .frame_addr = addr, .instr_off = FRAME_INSTR_UNKNOWN };

	/* None, which is immortal; its instructions are those of the trampoline. */
	fake_put(f, addr + f->offsets.frame.executable, f->addr | (f->version->tagged ? 1 : 0));
	fake_put(f, addr + f->offsets.frame.instr_ptr, f->addr + 64);
	fake_put_u8(f, addr + f->offsets.frame.owner, FAKE_ENTRY);
	fake_leaf(s, addr, &expected);
	return addr;
}

void fake_stack_begin(struct fake_stack *s, struct fake *f, __u64 tstate_addr)
{
	__u64 base_addr = tstate_addr + BASE_FRAME_AT;

	s->fake = f;
	s->tstate_addr = tstate_addr;
	s->cnt = 0;
	fake_put(f, tstate_addr + f->offsets.thread.current_frame, 0);
	if (f->offsets.thread.base_frame == PYOFF_ABSENT)
		return;
	fake_put(f, tstate_addr + f->offsets.thread.base_frame, base_addr);
	put_entry(s, base_addr);
}

__u64 fake_push(struct fake_stack *s, int owner, __u64 code_addr, __u32 instr_off)
{
	struct fake *f = s->fake;
	__u64 addr = fake_alloc(f, f->version->frame_size);
	struct frame expected = {
		.code_addr = code_addr,
		.frame_addr = addr,
		.instr_off = (__s32)instr_off,
	};

	fake_put(f, addr + f->offsets.frame.executable, code_addr);
	fake_put(f, addr + f->offsets.frame.instr_ptr,
		 code_addr + f->offsets.code.code_adaptive + instr_off);
	fake_put_u8(f, addr + f->offsets.frame.owner, owner);
	fake_leaf(s, addr, &expected);
	return addr;
}

__u64 fake_push_entry(struct fake_stack *s)
{
	return put_entry(s, fake_alloc(s->fake, s->fake->version->frame_size));
}

struct frame *fake_expected(struct fake_stack *s, __u32 index)
{
	return &s->frames[s->cnt - 1 - index];
}
