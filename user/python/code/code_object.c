/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_object.c - see code_object.h.
 */
#include "python/code/code_object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/python/fingerprint.h"
#include "python/code/linetable_old.h"
#include "python/values/py_string.h"
#include "base/data/cleanup.h"

/* Formats of line tables: co_lnotab before 3.10, then 3.10's, then today's. */
#define VERSION_3_10 0x030a0000
#define VERSION_3_11 0x030b0000

#define BYTES_HEADER_MAX 64
/* Largest bytecode of one code object; a sane one has less than 1 MiB. */
#define CODE_MAX_SZ (64 << 20)

static bool load(const __u8 *window, __s32 offset, void *ret, size_t len)
{
	if (offset < 0 || (size_t)offset + len > KRAIT_CODE_WINDOW)
		return false;
	memcpy(ret, window + offset, len);
	return true;
}

/*
 * Free-threaded builds count the references of the creating thread (ob_ref_local, 32 bits)
 * separately from those of all others (ob_ref_shared, signed, above two flag bits), both before
 * ob_type. An object dies when the first count is zero and the second sums up to zero.
 */
static bool is_shared_alive(const struct py_offsets *offsets, const __u8 *window)
{
	__s64 shared;
	__u32 local;

	if (!load(window, offsets->object.ob_type - 12, &local, sizeof(local)) ||
	    !load(window, offsets->object.ob_type - 8, &shared, sizeof(shared)))
		return true;
	return local || shared >> 2 > 0;
}

/*
 * GIL builds have the count in the low half of the word before ob_type; from 3.14 on flags are in
 * the top 16 bits. CPython's allocator links free blocks through their first word; that of the C
 * library overwrites ob_type as well.
 */
static bool is_alive(const struct py_offsets *offsets, const __u8 *window)
{
	__u64 word;

	if (offsets->flags & PYOFF_FREE_THREADED)
		return is_shared_alive(offsets, window);
	if (!load(window, offsets->object.ob_type - 8, &word, sizeof(word)))
		return true;
	return (__u32)word && !(word >> 32 & 0xffff);
}

int code_head_read(const struct memory *m, const struct py_offsets *offsets, __u64 code_addr,
		   struct code_head *ret)
{
	__u8 window[WINDOW_SIZE(CODE_WINDOW_MASK + 1)] = { 0 };
	struct code_head head = { 0 };
	__s32 name = offsets->code.qualname;
	int err;

	if (!code_addr || code_addr % sizeof(void *))
		return -EINVAL;
	if (name == PYOFF_ABSENT)
		name = offsets->code.name;
	err = memory_read(m, code_addr, window, PYOFF_CODE_WINDOW(offsets));
	if (err)
		return err;
	if (!load(window, offsets->object.ob_type, &head.type_addr, sizeof(head.type_addr)) ||
	    !load(window, name, &head.qualname_addr, sizeof(head.qualname_addr)) ||
	    !load(window, offsets->code.filename, &head.filename_addr,
		  sizeof(head.filename_addr)) ||
	    !load(window, offsets->code.linetable, &head.linetable_addr,
		  sizeof(head.linetable_addr)) ||
	    !load(window, offsets->code.firstlineno, &head.first_line, sizeof(head.first_line)))
		return -ENOTSUP;
	load(window, offsets->code.version, &head.version, sizeof(head.version));
	if (offsets->frame_kind == PY_FRAME_OBJECT && offsets->version < VERSION_3_10)
		load(window, offsets->code.bytecode, &head.bytecode_addr,
		     sizeof(head.bytecode_addr));
	head.alive = is_alive(offsets, window);
	head.fingerprint = code_fingerprint(m, offsets, window);
	if (!head.fingerprint)
		return -EFAULT;
	*ret = head;
	return 0;
}

bool code_head_equal(const struct code_head *a, const struct code_head *b)
{
	return a->fingerprint == b->fingerprint && a->version == b->version &&
	       a->type_addr == b->type_addr && a->qualname_addr == b->qualname_addr &&
	       a->filename_addr == b->filename_addr && a->linetable_addr == b->linetable_addr &&
	       a->first_line == b->first_line;
}

int code_head_check_type(const struct memory *m, const struct py_offsets *offsets,
			 const struct code_head *head, __u64 type_addr)
{
	static const char name[] = "code";
	char read[sizeof(name)];
	__u64 name_addr;
	int err;

	if (type_addr)
		return head->type_addr == type_addr ? 0 : -EINVAL;
	if (offsets->object.tp_name < 0)
		return -ENOTSUP;
	if (!head->type_addr || head->type_addr % sizeof(void *))
		return -EINVAL;
	err = memory_read(m, head->type_addr + (__u64)offsets->object.tp_name, &name_addr,
			  sizeof(name_addr));
	if (!err)
		err = memory_read(m, name_addr, read, sizeof(read));
	if (err)
		return err;
	return memcmp(read, name, sizeof(name)) ? -EINVAL : 0;
}

/* *ret_size stays 0 if the object does not look like a line table. */
static int read_bytes(const struct memory *m, const struct py_offsets *offsets, __u64 addr,
		      __u8 **ret, __u32 *ret_size)
{
	cleanup_free __u8 *bytes = NULL;
	__s64 size;
	int err;

	if (offsets->bytes.ob_size < 0 || offsets->bytes.ob_size > BYTES_HEADER_MAX ||
	    offsets->bytes.ob_sval < 0 || offsets->bytes.ob_sval > BYTES_HEADER_MAX)
		return -ENOTSUP;
	if (!addr || addr % sizeof(void *))
		return -EINVAL;
	err = memory_read(m, addr + (__u64)offsets->bytes.ob_size, &size, sizeof(size));
	if (err)
		return err;
	if (size <= 0 || size > LINETABLE_MAX_SZ)
		return -EINVAL;
	bytes = malloc((size_t)size);
	if (!bytes)
		return -ENOMEM;
	err = memory_read(m, addr + (__u64)offsets->bytes.ob_sval, bytes, (size_t)size);
	if (err)
		return err;
	*ret = take_ptr(&bytes);
	*ret_size = (__u32)size;
	return 0;
}

/* Converts an older version's table to the format of 3.11. */
static int translate(const struct memory *m, const struct py_offsets *offsets,
		     const struct code_head *head, __u8 **bytes, __u32 *size)
{
	__u8 *translated = NULL;
	__s64 code_size;
	int err;

	if (offsets->version >= VERSION_3_10) {
		err = linetable_from_3_10(*bytes, *size, &translated, size);
	} else {
		err = memory_read(m, head->bytecode_addr + (__u64)offsets->bytes.ob_size,
				  &code_size, sizeof(code_size));
		if (!err && (code_size < 0 || code_size > CODE_MAX_SZ))
			err = -EINVAL;
		if (!err)
			err = linetable_from_lnotab(*bytes, *bytes ? *size : 0, (__u32)code_size,
						    &translated, size);
	}
	if (err)
		return err;
	free(*bytes);
	*bytes = translated;
	return 0;
}

static int read_lines(const struct memory *m, const struct py_offsets *offsets,
		      const struct code_head *head, struct linetable *ret)
{
	cleanup_free __u8 *bytes = NULL;
	__u32 size;
	int err;

	err = read_bytes(m, offsets, head->linetable_addr, &bytes, &size);
	if (!err && offsets->version < VERSION_3_11)
		err = translate(m, offsets, head, &bytes, &size);
	/* co_lnotab is empty if all code is on the first line. */
	if (err == -EINVAL && offsets->version < VERSION_3_10)
		err = translate(m, offsets, head, &bytes, &size);
	return err ? err : linetable_init(ret, take_ptr(&bytes), size, head->first_line);
}

int code_body_read(const struct memory *m, const struct py_offsets *offsets,
		   const struct code_head *head, struct code_body *ret)
{
	struct code_body body = { 0 };
	int err;

	err = py_string_read(m, offsets, head->qualname_addr, &body.qualname);
	if (err)
		return err;
	/* A filename may be of any type: code.replace() does not check. */
	err = py_string_read(m, offsets, head->filename_addr, &body.filename);
	if (err == -EINVAL) {
		body.filename = strdup("");
		err = body.filename ? 0 : -ENOMEM;
	}
	if (!err) {
		err = read_lines(m, offsets, head, &body.lines);
		if (err == -EINVAL || err == -ENOTSUP)
			err = 0;
	}
	if (err) {
		code_body_deinit(&body);
		return err;
	}
	*ret = body;
	return 0;
}

void code_body_deinit(struct code_body *body)
{
	free(body->qualname);
	free(body->filename);
	linetable_deinit(&body->lines);
	*body = (struct code_body){ 0 };
}
