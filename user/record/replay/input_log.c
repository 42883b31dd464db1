/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/replay/input_log.h"

#include <errno.h>
#include <string.h>

#include "bpf/abi.h"
#include "process/probe/probe.h"

#define MAGIC "kraitin1"

struct log_header {
	char magic[8];
	/* Another build's structs may have a different layout. */
	__u32 sizes[9];
	/* Its enumerators may have different numbers. */
	__u32 ends[5];
};

struct entry_header {
	__u32 kind, key_size, value_size, pad_;
	__u64 time_ns;
};

static struct log_header own_header(void)
{
	struct log_header h = {
		.sizes = { sizeof(struct record_sample), sizeof(struct record_task),
			   sizeof(struct record_code), sizeof(struct probe_request),
			   sizeof(struct probe_found), offsetof(struct parser_answer, found.names),
			   sizeof(struct input_parse), sizeof(struct input_answer),
			   sizeof(struct input_session) + sizeof(struct input_parsed) },
		.ends = { REASON_COMPLETE_END, REASON_TRUNCATED_END, REASON_CNT, NATIVE_REASON_CNT,
			  RECORD_TYPE_CNT },
	};

	memcpy(h.magic, MAGIC, sizeof(h.magic));
	return h;
}

static size_t aligned(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static int put(FILE *out, const void *data, size_t size)
{
	static const char zeroes[8];
	size_t gap = aligned(size) - size;

	if ((size && fwrite(data, size, 1, out) != 1) || (gap && fwrite(zeroes, gap, 1, out) != 1))
		return errno ? -errno : -EIO;
	return 0;
}

int input_log_begin(FILE *out)
{
	const struct log_header h = own_header();

	return put(out, &h, sizeof(h));
}

int input_log_write(FILE *out, const struct input_entry *e)
{
	const struct entry_header h = {
		.kind = e->kind,
		.key_size = (__u32)e->key_size,
		.value_size = (__u32)e->value_size,
		.time_ns = e->time_ns,
	};
	int err;

	if (e->key_size > INPUT_KEY_MAX || e->value_size > INPUT_VALUE_MAX)
		return -EFBIG;
	err = put(out, &h, sizeof(h));
	if (!err)
		err = put(out, e->key, e->key_size);
	return err ? err : put(out, e->value, e->value_size);
}

int input_reader_begin(struct input_reader *r, const void *data, size_t size)
{
	const struct log_header h = own_header();

	*r = (struct input_reader){ data, size, sizeof(h) };
	return size >= sizeof(h) && !memcmp(data, &h, sizeof(h)) ? 0 : -ENOEXEC;
}

/* Checks that the sizes match the entry's kind. */
static bool sizes_are_sane(const struct entry_header *h)
{
	switch ((enum input_kind)h->kind) {
	case INPUT_RECORD:
		return !h->key_size;
	case INPUT_ANSWER:
		return h->key_size == sizeof(struct probe_request) &&
		       h->value_size >= sizeof(struct input_answer);
	case INPUT_FACT:
		return h->key_size == sizeof(struct input_question) &&
		       h->value_size == sizeof(struct input_fact);
	case INPUT_SESSION:
		return !h->key_size && h->value_size == sizeof(struct input_session);
	case INPUT_PARSED:
		return h->key_size >= offsetof(struct input_parse, request.offsets) &&
		       h->key_size <= sizeof(struct input_parse) &&
		       h->value_size >= sizeof(struct input_parsed) &&
		       h->value_size <= sizeof(struct input_parsed) + sizeof(struct parser_answer);
	case INPUT_KERNEL:
		return h->key_size == sizeof(__u64) && h->value_size >= 2;
	case INPUT_END:
		return !h->key_size && !h->value_size;
	case INPUT_KINDS:
		break;
	}
	return false;
}

int input_reader_next(struct input_reader *r, struct input_entry *ret)
{
	size_t left = r->size - r->pos;
	struct entry_header h;

	if (!left)
		return 0;
	if (left < sizeof(h))
		return -EBADMSG;
	memcpy(&h, r->data + r->pos, sizeof(h));
	left -= sizeof(h);
	if (h.key_size > INPUT_KEY_MAX || h.value_size > INPUT_VALUE_MAX || !sizes_are_sane(&h) ||
	    aligned(h.key_size) + aligned(h.value_size) > left)
		return -EBADMSG;
	r->pos += sizeof(h);
	*ret = (struct input_entry){
		.kind = (enum input_kind)h.kind,
		.time_ns = h.time_ns,
		.key = r->data + r->pos,
		.value = r->data + r->pos + aligned(h.key_size),
		.key_size = h.key_size,
		.value_size = h.value_size,
	};
	r->pos += aligned(h.key_size) + aligned(h.value_size);
	return 1;
}
