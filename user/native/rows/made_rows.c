/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/rows/made_rows.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "native/rows/code_state.h"
#include "native/rows/eh_frame.h"
#include "native/rows/eh_rows.h"
#include "base/data/cleanup.h"
#include "base/data/vec.h"

/* A JIT makes one for each module that it compiles. */
#define SECTIONS_MAX 4096
/* An entry shared by functions: LLVM's has 20 bytes. */
#define COMMON_MIN 12
#define COMMON_LENGTH_MAX 256

struct work {
	const struct made_header *header;
	const __u8 *memory; /* after the header */
	struct eh_frame frame;
	unsigned sections;
	/* An .eh_frame for trampolines. */
	__u8 *made;
	__u32 made_cnt, made_cap;
};

/* ---- .eh_frame in memory ---------------------------------------------------------------------- */

static __u32 word_at(const __u8 *at)
{
	__u32 word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* Does the start of an .eh_frame begin here? Version 1, and an augmentation as compilers write it. */
static bool is_common(const __u8 *at, __u64 left)
{
	const char *letters = (const char *)at + 9;
	__u64 len;

	if (left < COMMON_MIN || word_at(at + 4) || (at[8] != 1 && at[8] != 3))
		return false;
	len = word_at(at);
	if (len < COMMON_MIN || len > COMMON_LENGTH_MAX || len > left - 4 || len % 4)
		return false;
	return *letters == 'z' && letters[1] && letters[1 + strspn(letters + 1, "RPLSB")] == '\0' &&
	       strnlen(letters, len - 5) < len - 5;
}

/* Up to the terminating empty entry, or to the first malformed one. */
static __u64 section_size(const __u8 *at, __u64 left)
{
	__u64 size = 0;

	while (left - size >= 4) {
		__u64 len = word_at(at + size);

		if (!len || len == 0xffffffff || len > left - size - 4)
			break;
		size += 4 + len;
	}
	return size;
}

static int take_sections(struct work *w, const struct made_piece *p, const __u8 *data)
{
	for (__u64 at = -p->addr & 3; at + COMMON_MIN <= p->size;) {
		struct eh_section s = { .data = data + at, .address = p->addr + at };
		int err;

		if (!is_common(data + at, p->size - at)) {
			at += 4;
			continue;
		}
		if (w->sections++ == SECTIONS_MAX)
			return -E2BIG;
		s.size = section_size(data + at, p->size - at);
		err = eh_frame_add(&w->frame, &s);
		if (err)
			return err;
		at += s.size;
	}
	return 0;
}

/* ---- trampolines ------------------------------------------------------------------------------ */

/* A CIE: data factor -8, the CFA is sp + 8, the return address at CFA - 8. */
static const __u8 common_entry[] = { 16,
				     0,
				     0,
				     0,
				     0,
				     0,
				     0,
				     0,
				     1,
				     0,
				     1,
				     0x78,
				     UNWIND_REG_RA,
				     DW_CFA_def_cfa,
				     UNWIND_REG_SP,
				     8,
				     DW_CFA_offset + UNWIND_REG_RA,
				     1,
				     0,
				     0 };

static int put(struct work *w, const void *bytes, __u32 cnt)
{
	if (vec_reserve(w->made, w->made_cap, w->made_cnt + cnt))
		return -ENOMEM;
	memcpy(w->made + w->made_cnt, bytes, cnt);
	w->made_cnt += cnt;
	return 0;
}

/* An FDE: its CIE is the first entry. */
static int put_function(struct work *w, __u64 addr, __u64 size, const __u8 *cfi, __u32 cfi_size)
{
	const __u32 len = 4 + 16 + cfi_size, distance = w->made_cnt + 4;
	int err = put(w, &len, 4);

	if (!err)
		err = put(w, &distance, 4);
	if (!err)
		err = put(w, &addr, 8);
	if (!err)
		err = put(w, &size, 8);
	return err ? err : put(w, cfi, cfi_size);
}

static int take_trampolines(struct work *w, const struct made_piece *p, const __u8 *data)
{
	static const __u8 nothing[] = { DW_CFA_nop };

	for (__u64 at = 0; at < p->size;) {
		const __u32 mark = code_landing(data + at, p->size - at);
		const struct code_trampoline *t =
			code_trampoline_at(data + at + mark, p->size - at - mark);
		int err = 0;

		if (!t) {
			at++;
			continue;
		}
		if (mark)
			err = put_function(w, p->addr + at, mark, nothing, sizeof(nothing));
		at += mark;
		if (!err)
			err = put_function(w, p->addr + at, t->size, t->cfi, t->cfi_size);
		if (err)
			return err;
		at += t->size;
	}
	return 0;
}

/* A separate piece of code begins with a trampoline, or contains none. */
static bool begins_with_one(const struct made_piece *p, const __u8 *data)
{
	const __u32 mark = code_landing(data, p->size);

	return code_trampoline_at(data + mark, p->size - mark);
}

static int add_trampolines(struct work *w)
{
	const __u8 *data = w->memory;
	int err = put(w, common_entry, sizeof(common_entry));

	for (__u32 i = 0; i < w->header->piece_cnt && !err; i++) {
		const struct made_piece *p = &w->header->pieces[i];

		if (begins_with_one(p, data))
			err = take_trampolines(w, p, data);
		data += p->size;
	}
	if (!err && w->made_cnt > sizeof(common_entry)) {
		const struct eh_section s = { .data = w->made, .size = w->made_cnt };

		err = eh_frame_add(&w->frame, &s);
	}
	return err;
}

/* ---- code without functions ------------------------------------------------------------------- */

/* The part of a range of code that was read. */
static const __u8 *read_hole(void *ctx, __u64 offset, __u64 size, __u64 *ret_len)
{
	const struct work *w = ctx;
	const __u8 *data = w->memory;
	__u64 addr = w->header->base + offset;

	for (__u32 i = 0; i < w->header->piece_cnt; i++) {
		const struct made_piece *p = &w->header->pieces[i];

		if (addr >= p->addr && addr - p->addr < p->size) {
			*ret_len = p->size - (addr - p->addr);
			if (*ret_len > size)
				*ret_len = size;
			return data + (addr - p->addr);
		}
		data += p->size;
	}
	return NULL;
}

static int next_code(void *ctx, __u64 offset, __u64 *ret_start, __u64 *ret_end)
{
	const struct made_header *h = ((const struct work *)ctx)->header;

	for (__u32 i = 0; i < h->code_cnt; i++) {
		if (h->code[i].end - h->base <= offset)
			continue;
		*ret_start = h->code[i].start - h->base;
		*ret_end = h->code[i].end - h->base;
		return 0;
	}
	return -1;
}

/* ---- all of it -------------------------------------------------------------------------------- */

static bool is_in_code(const struct made_header *h, const struct eh_entry *e)
{
	for (__u32 i = 0; i < h->code_cnt; i++)
		if (e->start >= h->code[i].start && e->end <= h->code[i].end)
			return true;
	return false;
}

/* Converts addresses to offsets; drops what is outside of the code. */
static void make_offsets(struct work *w)
{
	struct eh_entry *list = w->frame.entries;
	__u32 kept = 0;

	for (__u32 i = 0; i < w->frame.entry_cnt; i++) {
		struct eh_entry e = list[i];

		if (!is_in_code(w->header, &e))
			continue;
		e.start -= w->header->base;
		e.end -= w->header->base;
		list[kept++] = e;
	}
	w->frame.entry_cnt = kept;
}

static int take_pieces(struct work *w)
{
	const __u8 *data = w->memory;
	int err = 0;

	for (__u32 i = 0; i < w->header->piece_cnt && !err; i++) {
		err = take_sections(w, &w->header->pieces[i], data);
		data += w->header->pieces[i].size;
	}
	return err ? err : add_trampolines(w);
}

static bool is_sound(const struct made_header *h, __u64 size)
{
	__u64 bytes = 0;

	if (h->code_cnt > MADE_CODE_MAX || h->piece_cnt > MADE_PIECES_MAX)
		return false;
	for (__u32 i = 0; i < h->code_cnt; i++)
		if (h->code[i].start < (i ? h->code[i - 1].end : h->base) ||
		    h->code[i].end <= h->code[i].start || h->code[i].end - h->base > MADE_SPAN_MAX)
			return false;
	for (__u32 i = 0; i < h->piece_cnt; i++)
		bytes += h->pieces[i].size;
	return bytes <= MADE_BYTES_MAX && bytes <= size;
}

static int read_all(int fd, void *buf, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = pread(fd, (char *)buf + done, size - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOEXEC;
		done += (size_t)n;
	}
	return 0;
}

int made_rows(int fd, struct row_table *ret)
{
	cleanup_free __u8 *image = NULL;
	struct work w = { 0 };
	const struct eh_holes holes = { read_hole, next_code, &w };
	struct stat st;
	int err;

	memset(ret, 0, sizeof(*ret));
	if (fstat(fd, &st))
		return -errno;
	if (st.st_size < (off_t)sizeof(*w.header) ||
	    st.st_size > (off_t)(sizeof(*w.header) + MADE_BYTES_MAX))
		return -ENOEXEC;
	image = malloc((size_t)st.st_size);
	if (!image)
		return -ENOMEM;
	err = read_all(fd, image, (size_t)st.st_size);
	if (err)
		return err;
	w.header = (const struct made_header *)image;
	w.memory = image + sizeof(*w.header);
	if (!is_sound(w.header, (__u64)st.st_size - sizeof(*w.header)))
		return -ENOEXEC;
	eh_frame_init(&w.frame);
	err = take_pieces(&w);
	if (!err) {
		make_offsets(&w);
		err = eh_rows(&w.frame, &holes, ret);
	}
	if (!err && !ret->rule_cnt)
		err = -ENODATA;
	if (err)
		row_table_free(ret);
	eh_frame_free(&w.frame);
	free(w.made);
	return err;
}
