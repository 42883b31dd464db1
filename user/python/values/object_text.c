/* SPDX-License-Identifier: BSD-2-Clause */
#include "python/values/object_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "python/values/object_read.h"
#include "python/values/py_string.h"

/* ---- reads ------------------------------------------------------------------------------------ */

int object_read(struct object_text *t, __u64 addr, void *buf, size_t len)
{
	if (t->reads >= OBJECT_READS_MAX)
		return -EFAULT;
	t->reads++;
	return memory_read(t->memory, addr, buf, len);
}

int object_read_u64(struct object_text *t, __u64 addr, __u64 *ret)
{
	return object_read(t, addr, ret, sizeof(*ret));
}

static void read_name(struct object_text *t, __u64 name_addr, char *name, size_t size)
{
	/* Do not read beyond the page: the next one may not be mapped. */
	const size_t on_page = 4096 - (name_addr & 4095);
	size_t len = size - 1 < on_page ? size - 1 : on_page;

	if (object_read(t, name_addr, name, len))
		len = 0;
	name[len] = '\0';
	if (len == on_page && strlen(name) == len && len < size - 1 &&
	    !object_read(t, name_addr + len, name + len, size - 1 - len))
		name[size - 1] = '\0';
}

int object_head_read(struct object_text *t, __u64 addr, struct object_head *ret)
{
	const struct py_offsets *off = t->layout->offsets;
	const __u64 tp_name = (__u64)off->object.tp_name;
	__u64 name_addr, sizes[2]; /* tp_name, tp_basicsize */
	int err;

	memset(ret, 0, sizeof(*ret));
	ret->addr = addr;
	if (!addr || addr & 7)
		return -EINVAL;
	err = object_read_u64(t, addr + (__u64)off->object.ob_type, &ret->type_addr);
	if (err)
		return err;
	if (!ret->type_addr || ret->type_addr & 7)
		return -EINVAL;
	/*
	 * The distance between these members is the same in all versions
	 * (Include/cpython/object.h).
	 */
	err = object_read(t, ret->type_addr + tp_name, sizes, sizeof(sizes));
	if (!err)
		err = object_read_u64(t, ret->type_addr + tp_name + 144, &ret->flags);
	if (!err)
		err = object_read_u64(t, ret->type_addr + tp_name + 264,
				      (__u64 *)&ret->dict_offset);
	if (err)
		return err;
	name_addr = sizes[0];
	ret->basic_size = (__s64)sizes[1];
	if (!name_addr || ret->basic_size < 16 || ret->basic_size > 1 << 20)
		return -EINVAL;
	read_name(t, name_addr, ret->type_name, sizeof(ret->type_name));
	return *ret->type_name ? 0 : -EINVAL;
}

const char *object_class_name(const struct object_head *h)
{
	const char *dot = strrchr(h->type_name, '.');

	return dot && dot[1] ? dot + 1 : h->type_name;
}

/* ---- text ------------------------------------------------------------------------------------- */

/* Truncates between characters. */
void object_put(struct object_text *t, const char *text)
{
	size_t room = OBJECT_TEXT_MAX - t->len, len = strlen(text);

	if (t->cut)
		return;
	if (len > room) {
		len = room;
		while (len && ((__u8)text[len] & 0xc0) == 0x80)
			len--;
		t->cut = true;
	}
	memcpy(t->text + t->len, text, len);
	t->len += len;
	t->text[t->len] = '\0';
}

void object_putf(struct object_text *t, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	object_put(t, text);
}

/* Python's own rule (unicode_repr): " only if the text contains ' and no ". */
static char quote_of(const char *bytes, size_t len)
{
	return memchr(bytes, '\'', len) && !memchr(bytes, '"', len) ? '"' : '\'';
}

void object_put_quoted(struct object_text *t, const char *prefix, const char *bytes, size_t len,
		       bool is_bytes, bool more)
{
	const char quote = quote_of(bytes, len);
	char piece[8];

	object_putf(t, "%s%c", prefix, quote);
	for (size_t i = 0; i < len && !t->cut; i++) {
		const __u8 c = (__u8)bytes[i];

		if (c == '\\' || c == (__u8)quote)
			snprintf(piece, sizeof(piece), "\\%c", c);
		else if (c == '\n' || c == '\t' || c == '\r')
			snprintf(piece, sizeof(piece), "\\%c",
				 c == '\n' ? 'n' :
				 c == '\t' ? 't' :
					     'r');
		else if (c < 0x20 || c == 0x7f || (is_bytes && c >= 0x80))
			snprintf(piece, sizeof(piece), "\\x%02x", c);
		else if (c == 0xc0) {
			/* From py_string_read_any(): a NUL as two bytes, a lone surrogate as three. */
			snprintf(piece, sizeof(piece), "\\x00");
			i++;
		} else if (c == 0xed && i + 2 < len && (__u8)bytes[i + 1] >= 0xa0) {
			snprintf(piece, sizeof(piece), "\\ud%03x",
				 ((__u8)bytes[i + 1] & 0x3f) << 6 | ((__u8)bytes[i + 2] & 0x3f));
			i += 2;
		} else if (c >= 0x80) {
			/* A whole character, or nothing. */
			size_t n = 1;

			while (i + n < len && ((__u8)bytes[i + n] & 0xc0) == 0x80 && n < 4)
				n++;
			snprintf(piece, sizeof(piece), "%.*s", (int)n, bytes + i);
			i += n - 1;
		} else
			snprintf(piece, sizeof(piece), "%c", c);
		object_put(t, piece);
	}
	object_putf(t, "%s%c", more ? "…" : "", quote);
}

/* ---- values ----------------------------------------------------------------------------------- */

static bool is_inside_itself(const struct object_text *t, __u64 addr)
{
	for (unsigned i = 0; i < t->depth; i++)
		if (t->inside[i] == addr)
			return true;
	return false;
}

void object_put_value(struct object_text *t, __u64 addr)
{
	struct object_head h;

	const int err = object_head_read(t, addr, &h);

	if (!err && is_inside_itself(t, addr)) {
		object_put(t, h.flags & TYPE_LIST  ? "[...]" :
			      h.flags & TYPE_TUPLE ? "(...)" :
			      h.flags & TYPE_DICT  ? "{...}" :
						     "...");
		return;
	}
	if (err) {
		object_put(t, t->reads >= OBJECT_READS_MAX ? "…" : "<?>");
		return;
	}
	if (object_put_scalar(t, &h))
		return;
	if (t->depth == OBJECT_DEPTH_MAX) {
		object_putf(t, "<%s …>", object_class_name(&h));
		return;
	}
	t->inside[t->depth++] = addr;
	if (!object_put_container(t, &h))
		object_put_instance(t, &h);
	t->depth--;
}

void object_text_make(struct object_text *t, __u64 addr)
{
	t->reads = t->depth = 0;
	t->len = 0;
	t->cut = false;
	t->text[0] = '\0';
	object_put_value(t, addr);
	if (t->cut)
		memcpy(t->text + t->len, "…", sizeof("…"));
}
