/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_image.h - a target's memory made of bytes: CPython 3.14 objects laid out by hand.
 *
 * Tests read the image through a struct memory that counts reads and can fail or change something
 * at the n-th one, so a fault or a race can be put at every point of a sequence.
 */
#ifndef KRAIT_TESTS_SUPPORT_IMAGE_H
#define KRAIT_TESTS_SUPPORT_IMAGE_H

#include <linux/types.h>
#include <stddef.h>

#include "bpf/abi.h"
#include "base/data/memory.h"

#define IMAGE_ADDR 0x7f0000000000ULL
#define IMAGE_SIZE (1u << 20)
#define IMAGE_INTERP (IMAGE_ADDR + 64) /* its generation is at + 24 */

struct image {
	__u8 bytes[IMAGE_SIZE];
	size_t used;
	__u64 code_type_addr;
	struct memory memory;
	unsigned long reads;
	unsigned long fail_at; /* the n-th read from now on fails (1: the next); 0: none */
	int fail_with;
	/* Called before the n-th read from now. */
	unsigned long change_at;
	void (*change)(struct image *image, void *arg);
	void *change_arg;
};

extern const struct py_offsets image_offsets;

/* Contains a PyCode_Type and generation 0. */
struct image *image_new(void);
void image_free(struct image *image);

void *image_at(struct image *image, __u64 addr);
/* Allocates len zero bytes, 16-byte aligned. */
__u64 image_alloc(struct image *image, size_t len);
void image_set_generation(struct image *image, __u64 generation);

/* kind 1, 2 or 4 (data of that width), or 0 for ASCII. */
__u64 image_string(struct image *image, int kind, const void *data, size_t length);
__u64 image_ascii(struct image *image, const char *text);
__u64 image_bytes(struct image *image, const void *data, size_t len);

/* Makes a type object with that name. */
__u64 image_type(struct image *image, const char *name);

struct image_code {
	__u64 qualname_addr, filename_addr, linetable_addr;
	int first_line;
	__u32 version;
};
__u64 image_code(struct image *image, const struct image_code *code);
/* Puts another object at the address of an earlier one. */
void image_put_code(struct image *image, __u64 addr, const struct image_code *code);
/* The fingerprint of the code object there; not a read that counts. */
__u32 image_fingerprint(struct image *image, __u64 code_addr);

#endif /* KRAIT_TESTS_SUPPORT_IMAGE_H */
