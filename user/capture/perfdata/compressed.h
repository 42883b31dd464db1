/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compressed.h - records inside records, as perf record -z writes them: PERF_RECORD_COMPRESSED.
 *
 * All of a file's compressed records are one stream of zstd, each flushed, so that a reader who has one
 * of them, and all before it, has everything that was written into it.
 */
#ifndef KRAIT_CAPTURE_PERFDATA_COMPRESSED_H
#define KRAIT_CAPTURE_PERFDATA_COMPRESSED_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* As in perf record -z[LEVEL]. */
#define COMPRESSED_LEVEL_DEFAULT 1
#define COMPRESSED_LEVEL_MAX 22
/* Each record of ours expands to at most this (comp_mmap_len of the feature COMPRESSED). */
#define COMPRESSED_EXPANDS_TO 65536U

struct packer;
struct unpacker;

/* Returns 0, or -ENOMEM. level: 1 to COMPRESSED_LEVEL_MAX. */
int packer__new(struct packer **ret, int level) __attribute__((warn_unused_result));
void packer__free(struct packer *p);
/* A record of that size begins: makes room, so that it stays in one piece if it can. */
int packer__reserve(struct packer *p, FILE *out, size_t size);
/* Takes bytes of records; what has filled a record goes to *out. Returns 0 or -errno. */
int packer__put(struct packer *p, FILE *out, const void *data, size_t size);
/* The rest goes to *out, too. */
int packer__flush(struct packer *p, FILE *out);
/* Bytes that were put in so far, and those that went to *out. */
__u64 packer__taken(const struct packer *p);
__u64 packer__given(const struct packer *p);
/* How many bytes a record of ours would have instead of these; 0: unknown. */
size_t packer_estimate(const void *data, size_t size);

/* Returns 0 or -ENOMEM. */
int unpacker__new(struct unpacker **ret) __attribute__((warn_unused_result));
void unpacker__free(struct unpacker *u);
/*
 * Takes what a compressed record holds, which must stay valid until unpacker__next() has returned 0. It
 * may expand to that many bytes.
 */
void unpacker__feed(struct unpacker *u, const void *data, size_t size, __u64 expands_to);
/*
 * Returns 1: *ret is the next record, valid until the next call, and *ret_size its size; 0: it is not
 * complete before the next unpacker__feed(); -EBADMSG: it is damaged, and so is everything after it.
 */
int unpacker__next(struct unpacker *u, const __u8 **ret, size_t *ret_size)
	__attribute__((warn_unused_result));
/* Has it the beginning of a record that is not complete? */
bool unpacker__is_torn(const struct unpacker *u);

#endif /* KRAIT_CAPTURE_PERFDATA_COMPRESSED_H */
