/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_dso_reader.c - any bytes as a capture's DSO: what it says about a place are valid texts.
 */
#include <linux/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/dso/dso.h"
#include "capture/dso/dso_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("dso", MFD_CLOEXEC);
	struct profile_frame place;
	struct dict *dict;
	struct dso_reader *r;
	size_t length = 0;
	char path[64];
	__u64 value;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!dso_reader__open(&r, path, NULL, 0)) {
		dict = dict__new(profile_limits_default());
		for (__u64 at = DSO_TEXT_OFFSET; at < DSO_TEXT_OFFSET + 512; at += DSO_SLOT) {
			if (dso_reader__find(r, dict, at + 1, &place))
				length += strlen(dict__text(dict, place.name)) +
					  strlen(dict__text(dict, place.file));
			length += dso_reader__opcode(r, at);
		}
		length += dso_reader__note(r, "interrupts", &value);
		dict__free(dict);
		dso_reader__free(r);
	}
	close(fd);
	return length > 1UL << 40;
}
