/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_scalars.c - values that contain no others: numbers, strings, singletons.
 *
 *  int      Include/cpython/longintrepr.h: ob_size is the number of digits and the sign up to 3.11;
 *  from 3.12 on lv_tag has the number above three bits, of which the lower two are the sign (0, 1
 *  zero, 2 minus); digits of 30 bits, least significant first
 *  float    Include/cpython/floatobject.h; text as in repr(): the shortest that reads back the same
 *  bytearray Include/cpython/bytearrayobject.h: ob_start
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/values/object_read.h"
#include "python/values/py_string.h"
#include "base/data/cleanup.h"

/* Digits of an int to show: at most 1,156 decimal digits. */
#define DIGITS_MAX 128
#define DIGIT_BITS 30
/* Bytes of bytes and bytearray to show. */
#define BYTES_SHOWN 256

/* ---- int -------------------------------------------------------------------------------------- */

static int read_sign(struct object_text *t, const struct object_head *h, bool *minus, __u64 *cnt)
{
	__u64 word;
	int err = object_read_u64(t, h->addr + t->layout->header, &word);

	if (err)
		return err;
	if (t->layout->minor >= 12) {
		*minus = (word & 3) == 2;
		*cnt = (word & 3) == 1 ? 0 : word >> 3;
	} else {
		*minus = (__s64)word < 0;
		*cnt = *minus ? -word : word;
	}
	return 0;
}

/* Converts to base 10^9, least significant first; returns the number of digits. */
static unsigned to_decimal(const __u32 *digits, unsigned cnt, __u32 *ret)
{
	unsigned len = 0;

	for (unsigned i = cnt; i-- > 0;) {
		__u64 carry = digits[i] & ((1U << DIGIT_BITS) - 1);

		for (unsigned k = 0; k < len; k++) {
			carry += (__u64)ret[k] << DIGIT_BITS;
			ret[k] = (__u32)(carry % 1000000000);
			carry /= 1000000000;
		}
		while (carry) {
			ret[len++] = (__u32)(carry % 1000000000);
			carry /= 1000000000;
		}
	}
	return len;
}

static void put_int(struct object_text *t, const struct object_head *h)
{
	/* 30 bits are a little more than 9 decimal digits. */
	__u32 digits[DIGITS_MAX], decimal[DIGITS_MAX + DIGITS_MAX / 32 + 2];
	unsigned len;
	bool minus;
	__u64 cnt;

	if (read_sign(t, h, &minus, &cnt)) {
		object_put(t, "<?>");
		return;
	}
	if (cnt > DIGITS_MAX) {
		object_putf(t, "<%sint of %llu bits>", minus ? "negative " : "",
			    cnt < 1ULL << 56 ? cnt * DIGIT_BITS : 0);
		return;
	}
	if (cnt && object_read(t, h->addr + t->layout->header + 8, digits, cnt * sizeof(*digits))) {
		object_put(t, "<?>");
		return;
	}
	len = to_decimal(digits, (unsigned)cnt, decimal);
	object_putf(t, "%s%u", minus ? "-" : "", len ? decimal[len - 1] : 0);
	for (unsigned i = len ? len - 1 : 0; i-- > 0;)
		object_putf(t, "%09u", decimal[i]);
}

static void put_bool(struct object_text *t, const struct object_head *h)
{
	__u64 cnt = 0;
	bool minus;

	if (read_sign(t, h, &minus, &cnt))
		object_put(t, "<?>");
	else
		object_put(t, cnt ? "True" : "False");
}

/* ---- float ------------------------------------------------------------------------------------ */

/* As float_repr_style 'short': exponents below -4 and from 16 on (Python/pystrtod.c). */
static void float_into(char *buf, size_t size, double value, bool dot_zero)
{
	char digits[40], *e, *point;
	int exponent, precision = 0;

	if (isnan(value) || isinf(value)) {
		snprintf(buf, size, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
		return;
	}
	do
		snprintf(digits, sizeof(digits), "%.*e", precision, value);
	while (strtod(digits, NULL) != value && precision++ < 17);
	e = strchr(digits, 'e');
	exponent = atoi(e + 1);
	if (exponent < -4 || exponent >= 16) {
		*e = '\0';
		snprintf(buf, size, "%se%c%02d", digits, exponent < 0 ? '-' : '+', abs(exponent));
		return;
	}
	precision -= exponent;
	snprintf(buf, size, "%.*f", precision > 0 ? precision : 0, value);
	point = strchr(buf, '.');
	if (!point && dot_zero && strlen(buf) + 3 <= size)
		strcat(buf, ".0");
}

static void put_float(struct object_text *t, const struct object_head *h)
{
	char text[64];
	double value;

	if (object_read(t, h->addr + t->layout->header, &value, sizeof(value))) {
		object_put(t, "<?>");
		return;
	}
	float_into(text, sizeof(text), value, true);
	object_put(t, text);
}

static void put_complex(struct object_text *t, const struct object_head *h)
{
	char real[64], imag[64];
	double value[2];

	if (object_read(t, h->addr + t->layout->header, value, sizeof(value))) {
		object_put(t, "<?>");
		return;
	}
	float_into(real, sizeof(real), value[0], false);
	float_into(imag, sizeof(imag), value[1], false);
	if (value[0] == 0 && !signbit(value[0]))
		object_putf(t, "%sj", imag);
	else
		object_putf(t, "(%s%s%sj)", real, *imag == '-' ? "" : "+", imag);
}

/* ---- strings ---------------------------------------------------------------------------------- */

static void put_str(struct object_text *t, const struct object_head *h)
{
	cleanup_free char *text = NULL;

	t->reads += 3;
	if (py_string_read_any(t->memory, t->layout->offsets, h->addr, &text))
		object_put(t, "<?>");
	else
		object_put_quoted(t, "", text, strlen(text), false, false);
}

static void put_bytes(struct object_text *t, __u64 data_addr, __u64 len)
{
	char bytes[BYTES_SHOWN];
	size_t shown = len < sizeof(bytes) ? len : sizeof(bytes);

	if (shown && object_read(t, data_addr, bytes, shown))
		object_put(t, "<?>");
	else
		object_put_quoted(t, "b", bytes, shown, true, shown < len);
}

static void put_bytes_object(struct object_text *t, const struct object_head *h, bool array)
{
	const struct py_offsets *off = t->layout->offsets;
	__u64 len = 0, data_addr = h->addr + (__u64)off->bytes.ob_sval;

	if (object_read_u64(t, h->addr + t->layout->header, &len) ||
	    (array && object_read_u64(t, h->addr + t->layout->header + 24, &data_addr))) {
		object_put(t, "<?>");
		return;
	}
	if (array)
		object_put(t, "bytearray(");
	put_bytes(t, data_addr, len);
	if (array)
		object_put(t, ")");
}

/* ---- all -------------------------------------------------------------------------------------- */

static bool put_singleton(struct object_text *t, const struct object_head *h)
{
	static const struct {
		const char *type, *text;
	} singletons[] = { { "NoneType", "None" },
			   { "ellipsis", "Ellipsis" },
			   { "NotImplementedType", "NotImplemented" } };

	for (size_t i = 0; i < sizeof(singletons) / sizeof(singletons[0]); i++) {
		if (strcmp(h->type_name, singletons[i].type))
			continue;
		object_put(t, singletons[i].text);
		return true;
	}
	return false;
}

static bool put_plain(struct object_text *t, const struct object_head *h)
{
	if (h->flags & TYPE_LONG)
		put_int(t, h);
	else if (h->flags & TYPE_STR)
		put_str(t, h);
	else if (h->flags & TYPE_BYTES)
		put_bytes_object(t, h, false);
	else
		return false;
	return true;
}

bool object_put_scalar(struct object_text *t, const struct object_head *h)
{
	if (h->flags & (TYPE_LONG | TYPE_STR | TYPE_BYTES) &&
	    (h->flags & TYPE_HEAP || strchr(h->type_name, '.'))) {
		/* For a subclass: its own __repr__ cannot be asked. */
		object_putf(t, "<%s ", object_class_name(h));
		put_plain(t, h);
		object_put(t, ">");
		return true;
	}
	if (!strcmp(h->type_name, "bool"))
		put_bool(t, h);
	else if (!strcmp(h->type_name, "float"))
		put_float(t, h);
	else if (!strcmp(h->type_name, "complex"))
		put_complex(t, h);
	else if (!strcmp(h->type_name, "bytearray"))
		put_bytes_object(t, h, true);
	else
		return put_singleton(t, h) || put_plain(t, h);
	return true;
}
