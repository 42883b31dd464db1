/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_greenlet_place.c - any damage to the memory of a process with greenlet: from its module's
 * headers to a thread's running greenlet.
 *
 * The first byte chooses the C library and the greenlet; then each ten bytes are a word and its
 * position. So the fuzzer starts from valid memory and needs no guesses to reach the last step.
 * Results lie within their limits, and so does the number of reads.
 */
#include "support_greenlet_image.h"

#include <stdint.h>

#include "process/identify/greenlet_place.h"

/* The word is an offset in the image instead of a number. */
#define IS_ADDRESS (1 << 15)
/* The greatest possible count. */
#define MODULES_MAX 4096
#define BLOCK_MAX 512
#define DISTANCE_MAX (1 << 21)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder_path[] = "/tmp/krait-fuzz-greenlets-XXXXXX";
static int folder;

static void remove_folder(void)
{
	gi_remove_folder(folder, folder_path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	folder = gi_folder(folder_path, "/x/_greenlet.so");
	if (folder < 0 || atexit(remove_folder))
		abort();
	return 0;
}

static void damage(struct greenlet_image *x, const uint8_t *data, size_t size)
{
	__u16 where;
	__u64 word;

	for (; size >= sizeof(where) + sizeof(word); size -= sizeof(where) + sizeof(word)) {
		memcpy(&where, data, sizeof(where));
		memcpy(&word, data + sizeof(where), sizeof(word));
		if (where & IS_ADDRESS)
			word = GI_ADDR + word % GI_SIZE;
		gi_put(x, where % (GI_SIZE - sizeof(word) + 1), word);
		data += sizeof(where) + sizeof(word);
	}
}

static void check(const struct greenlet_place *p)
{
	if (p->state_at % 8 || p->tls_module > MODULES_MAX)
		abort();
	if (p->tls_module ?
		    (p->dtv_entry != p->tls_module * 16 && p->dtv_entry != p->tls_module * 8) ||
			    p->state_at < 0 || p->state_at + 8 > BLOCK_MAX :
		    p->state_at < -DISTANCE_MAX || p->state_at >= DISTANCE_MAX)
		abort();
	if (p->size > KRAIT_GREENLET_WINDOW || p->self + 8 > p->size ||
	    p->stack_start + 8 > p->size || p->stack_stop + 8 > p->size ||
	    p->top_frame + 8 > p->size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct greenlet_image x;
	struct greenlet_place place;
	int err;

	if (!size)
		return 0;
	gi_begin(&x, data[0] & 1, data[0] & 2);
	damage(&x, data + 1, size - 1);
	err = greenlet_place_find(folder, &x.memory, &x.offsets, GI_ADDR + GI_RUNTIME, &place);
	if (x.reads > GREENLET_PLACE_READS)
		abort();
	if (!err)
		check(&place);
	else if (size == 1)
		abort(); /* nothing is damaged */
	return 0;
}
