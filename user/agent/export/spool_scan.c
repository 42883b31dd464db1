/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/export/spool_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/data/cleanup.h"

#define CHUNK 65536U

/* Is there a good header whose record ends within the file? */
static bool record_at(int fd, __u64 at, __u64 end, __u64 mark, struct spool_record_header *h)
{
	if (at + sizeof(*h) > end || spool_pread(fd, h, sizeof(*h), at))
		return false;
	return spool_record_is_good(h, mark) && spool_record_size(h) <= end - at;
}

/* The next good record from there on, or end. */
static __u64 resume_at(int fd, __u64 at, __u64 end, __u64 mark, struct spool_record_header *h)
{
	__u64 words[CHUNK / sizeof(__u64)];

	while (at + sizeof(*h) <= end) {
		size_t len = end - at < sizeof(words) ? end - at : sizeof(words);

		if (spool_pread(fd, words, len, at))
			return end;
		for (size_t i = 0; i < len / sizeof(words[0]); i++) {
			if (words[i] == mark && record_at(fd, at + i * 8, end, mark, h))
				return at + i * 8;
		}
		at += len & ~7UL;
	}
	return end;
}

static bool has_whole_body(int fd, const struct spool_record_header *h, __u64 at)
{
	size_t len = (size_t)h->query_len + h->body_len;
	cleanup_free char *body = malloc(len + 1);

	/* If there is no memory to check it, the reader will. */
	return !body ||
	       (!spool_pread(fd, body, len, at + sizeof(*h)) && spool_body_is_good(h, body));
}

static int open_segment(struct spool_scan *scan, int fd, __u64 *ret_end)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	*ret_end = (__u64)st.st_size;
	if (*ret_end < sizeof(scan->header))
		return -ENOENT;
	if (spool_pread(fd, &scan->header, sizeof(scan->header), 0))
		return -EIO;
	return spool_segment_is_good(&scan->header) ? 0 : -ENOENT;
}

int spool_scan_segment(struct spool_scan *scan, int fd)
{
	struct spool_record_header h, last;
	__u64 at = sizeof(scan->header), end = 0, last_at = 0;
	int err = open_segment(scan, fd, &end);

	scan->size = sizeof(scan->header);
	scan->torn = false;
	scan->spoilt = 0;
	if (err)
		return err;
	while (at < end) {
		if (!record_at(fd, at, end, scan->header.mark, &h)) {
			at = resume_at(fd, at + 8, end, scan->header.mark, &h);
			if (at >= end)
				break;
			scan->spoilt++;
		}
		/* The one before was not the last, so it stays. */
		if (last_at)
			scan->found(scan->ctx, &last, last_at);
		last = h;
		last_at = at;
		at += spool_record_size(&h);
	}
	if (last_at && has_whole_body(fd, &last, last_at)) {
		scan->found(scan->ctx, &last, last_at);
		scan->size = last_at + spool_record_size(&last);
	} else if (last_at) {
		scan->size = last_at;
	}
	scan->torn = scan->size < end;
	return 0;
}
