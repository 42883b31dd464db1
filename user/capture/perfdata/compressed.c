/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/perfdata/compressed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "capture/perfdata/format.h"
#include "base/text/stream.h"

/* Of records in one compressed record, whose 16-bit size it must fit even if zstd saves nothing. */
#define CHUNK (60U << 10)
#define RECORD_MAX 65535U
/* More history than 8 MiB costs readers more memory than it saves space. */
#define WINDOW_LOG_MAX 23
#define LEVEL_LARGE_WINDOW 20 /* the first whose window is larger */

/* ---- writing ---------------------------------------------------------------------------------- */

struct packer {
	ZSTD_CCtx *zstd;
	size_t len;
	__u64 taken, given;
	__u8 chunk[CHUNK];
	__u8 record[RECORD_MAX];
};

int packer__new(struct packer **ret, int level)
{
	struct packer *p = malloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->len = 0;
	p->taken = p->given = 0;
	p->zstd = ZSTD_createCCtx();
	if (!p->zstd ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, level)) ||
	    (level >= LEVEL_LARGE_WINDOW &&
	     ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_windowLog, WINDOW_LOG_MAX)))) {
		packer__free(p);
		return -ENOMEM;
	}
	*ret = p;
	return 0;
}

void packer__free(struct packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->zstd);
	free(p);
}

int packer__flush(struct packer *p, FILE *out)
{
	struct perf_event_header header = { .type = PERF_USER_COMPRESSED };
	ZSTD_inBuffer in = { p->chunk, p->len, 0 };
	ZSTD_outBuffer to = { p->record, sizeof(p->record), sizeof(header) };

	if (!p->len)
		return 0;
	/* One call is enough: the record has room for what zstd cannot make smaller. */
	if (ZSTD_compressStream2(p->zstd, &to, &in, ZSTD_e_flush) || in.pos != in.size)
		return -ENOMEM;
	header.size = (__u16)to.pos;
	memcpy(p->record, &header, sizeof(header));
	p->len = 0;
	p->given += to.pos;
	errno = 0;
	return fwrite_unlocked(p->record, 1, to.pos, out) == to.pos ? 0 : stream_cause();
}

int packer__reserve(struct packer *p, FILE *out, size_t size)
{
	return size > CHUNK - p->len ? packer__flush(p, out) : 0;
}

int packer__put(struct packer *p, FILE *out, const void *data, size_t size)
{
	p->taken += size;
	while (size > CHUNK - p->len) {
		const size_t part = CHUNK - p->len;
		int err;

		memcpy(p->chunk + p->len, data, part);
		p->len = CHUNK;
		err = packer__flush(p, out);
		if (err)
			return err;
		data = (const __u8 *)data + part;
		size -= part;
	}
	memcpy(p->chunk + p->len, data, size);
	p->len += size;
	return 0;
}

__u64 packer__taken(const struct packer *p)
{
	return p->taken;
}

__u64 packer__given(const struct packer *p)
{
	return p->given;
}

size_t packer_estimate(const void *data, size_t size)
{
	size_t bound = ZSTD_compressBound(size), result = 0;
	void *to = malloc(bound);

	if (to)
		result = ZSTD_compress(to, bound, data, size, COMPRESSED_LEVEL_DEFAULT);
	free(to);
	return ZSTD_isError(result) ? 0 : result;
}

/* ---- reading ---------------------------------------------------------------------------------- */

/* Room for a record that is not complete, and for more to come. */
#define UNPACKED_ROOM (4 * 65536U)

struct unpacker {
	ZSTD_DCtx *zstd;
	ZSTD_inBuffer in;
	__u64 expands_to; /* what is left of it */
	bool more; /* zstd may hold bytes that found no room */
	size_t at, end; /* of out */
	__u8 out[UNPACKED_ROOM] __attribute__((aligned(8)));
};

int unpacker__new(struct unpacker **ret)
{
	struct unpacker *u = malloc(sizeof(*u));

	if (!u)
		return -ENOMEM;
	u->zstd = ZSTD_createDCtx();
	if (!u->zstd) {
		free(u);
		return -ENOMEM;
	}
	u->in = (ZSTD_inBuffer){ 0 };
	u->expands_to = 0;
	u->more = false;
	u->at = u->end = 0;
	*ret = u;
	return 0;
}

void unpacker__free(struct unpacker *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->zstd);
	free(u);
}

void unpacker__feed(struct unpacker *u, const void *data, size_t size, __u64 expands_to)
{
	u->in = (ZSTD_inBuffer){ data, size, 0 };
	u->expands_to = expands_to;
	u->more = true;
}

/* Returns 1: there is more in out; 0: everything is there; -EBADMSG. */
static int expand(struct unpacker *u)
{
	ZSTD_outBuffer to = { u->out, sizeof(u->out), 0 };

	memmove(u->out, u->out + u->at, u->end - u->at);
	u->end -= u->at;
	u->at = 0;
	to.pos = u->end;
	/* A call ends with each frame, of which there may be several, and when out is full. */
	while (u->more && to.pos == u->end) {
		size_t before = u->in.pos, result = ZSTD_decompressStream(u->zstd, &to, &u->in);

		u->more = to.pos == to.size || u->in.pos < u->in.size;
		if (ZSTD_isError(result) || to.pos - u->end > u->expands_to ||
		    (u->more && to.pos == u->end && u->in.pos == before))
			return -EBADMSG;
	}
	if (to.pos == u->end)
		return 0;
	u->expands_to -= to.pos - u->end;
	u->end = to.pos;
	return 1;
}

int unpacker__next(struct unpacker *u, const __u8 **ret, size_t *ret_size)
{
	for (;;) {
		struct perf_event_header header = { 0 };
		size_t has = u->end - u->at;
		int result;

		if (has >= sizeof(header)) {
			memcpy(&header, u->out + u->at, sizeof(header));
			if (header.size < sizeof(header))
				return -EBADMSG;
			if (has >= header.size) {
				*ret = u->out + u->at;
				*ret_size = header.size;
				u->at += header.size;
				return 1;
			}
		}
		result = expand(u);
		if (result <= 0)
			return result;
	}
}

bool unpacker__is_torn(const struct unpacker *u)
{
	return u->at != u->end;
}
