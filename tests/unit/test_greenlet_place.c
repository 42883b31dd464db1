/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_greenlet_place.c - finds the greenlets of a process in memory made of bytes, for both C
 * libraries and both layouts. What does not prove itself is refused, and endless structures end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "support_greenlet_image.h"

#include <cmocka.h>

#include "support_fake_random.h"
#include "process/identify/greenlet_place.h"

#define MODULE "/x/_greenlet.cpython-313-x86_64-linux-gnu.so"

static struct greenlet_image image;
static struct greenlet_place place;

static int folder;

static int find(void)
{
	int err;

	memset(&place, 0xff, sizeof(place));
	image.reads = 0;
	err = greenlet_place_find(folder, &image.memory, &image.offsets, GI_ADDR + GI_RUNTIME,
				  &place);
	assert_true(image.reads <= GREENLET_PLACE_READS);
	return err;
}

static void begin(void)
{
	gi_begin(&image, false, true);
}

/* With only that word changed. */
static void assert_refused(__u32 at, __u64 word, int err)
{
	begin();
	gi_put(&image, at, word);
	assert_int_equal(find(), err);
}

#define HEADER(number, member)                                                                     \
	(GI_HEADERS + (number) * sizeof(Elf64_Phdr) + offsetof(Elf64_Phdr, member))
#define DYNAMIC(number, member)                                                                    \
	(GI_DYNAMIC + (number) * sizeof(Elf64_Dyn) + offsetof(Elf64_Dyn, member))
#define RELOCATION(number, member)                                                                 \
	(GI_RELOCATIONS + (number) * sizeof(Elf64_Rela) + offsetof(Elf64_Rela, member))
#define TABLE (GI_TABLES + GI_TABLE_SIZE + GI_TABLE_HEAD)

/* ---- what is there ---------------------------------------------------------------------------- */

static void both_libraries_both_layouts(void **state)
{
	for (int musl = 0; musl < 2; musl++) {
		for (int self_first = 0; self_first < 2; self_first++) {
			gi_begin(&image, musl, self_first);
			assert_int_equal(find(), 0);
			assert_int_equal(place.tls_module, GI_MODULE);
			assert_int_equal(place.dtv_entry, GI_MODULE * (musl ? 8 : 16));
			assert_int_equal(place.dtv_count, musl ? 0 : -16);
			assert_int_equal(place.dtv_at, gi_tables[musl].at);
			assert_int_equal(place.state_at, GI_STATE_AT);
			assert_int_equal(place.start_ns, 0);
			assert_int_equal(place.impl, 32);
			assert_int_equal(place.size, GI_END + 16);
			assert_int_equal(place.self, self_first ? 8 : GI_END);
			assert_int_equal(place.parent, GI_END + (self_first ? 16 : 24));
			assert_int_equal(place.stack_start, gi_stack(&image));
			assert_int_equal(place.stack_stop, gi_stack(&image) + 8);
			assert_int_equal(place.top_frame, gi_stack(&image) + 48);
		}
	}
}

/* Perhaps later: a different answer from never. */
static void no_thread_has_asked_yet(void **state)
{
	assert_refused(GI_BLOCK + GI_STATE_AT, 1, -EAGAIN); /* greenlet's own marker for that */
	assert_refused(TABLE + GI_MODULE * 16, ~0ULL, -EAGAIN);
	assert_refused(TABLE + GI_MODULE * 16, 0, -EAGAIN);
	assert_refused(TABLE - 16, GI_MODULE - 1, -EAGAIN);
	assert_refused(GI_RUNTIME, 0, -EAGAIN); /* no interpreter */
}

/* Each has a relocation with the number of the module's only TLS block. */
static void modules_with_more_variables(void **state)
{
	begin();
	gi_put(&image, RELOCATION(0, r_info), TLS_RELOC_MODULE);
	gi_put(&image, RELOCATION(0, r_offset), GI_NUMBER);
	assert_int_equal(find(), 0);
	/* Another module's number, with nothing there. */
	gi_put(&image, RELOCATION(0, r_offset), GI_RUNTIME - 8);
	gi_put(&image, GI_RUNTIME - 8, GI_MODULE + 1);
	assert_int_equal(find(), 0);
	assert_int_equal(place.tls_module, GI_MODULE);
}

/* The block is among those that every thread has: no table leads to it. */
static void descriptors_of_a_distance(void **state)
{
	const __u64 second = GI_POINTERS + GI_POINTER_SIZE + GI_POINTER_AT;

	begin();
	gi_put(&image, RELOCATION(1, r_info), TLS_RELOC_DESCRIPTOR);
	gi_put(&image, GI_NUMBER + 8, GI_BLOCK - second);
	assert_int_equal(find(), 0);
	assert_int_equal(place.tls_module, 0);
	assert_int_equal(place.state_at, GI_BLOCK + GI_STATE_AT - second);
	/* No thread has asked yet. */
	gi_put(&image, GI_BLOCK + GI_STATE_AT, 1);
	assert_int_equal(find(), -EAGAIN);
	gi_put(&image, GI_NUMBER + 8, 4);
	assert_int_equal(find(), -EPROTONOSUPPORT);
	gi_put(&image, GI_NUMBER + 8, 0);
	assert_int_equal(find(), -EPROTONOSUPPORT);
}

/* A distance below the thread pointer, as x86-64 has it; in the relocations of stubs, as some linkers put it. */
static void descriptors_among_stubs(void **state)
{
	const __u64 second = GI_POINTERS + GI_POINTER_SIZE + GI_POINTER_AT;

	begin();
	gi_put(&image, DYNAMIC(0, d_tag), DT_PLTRELSZ);
	gi_put(&image, DYNAMIC(1, d_tag), DT_JMPREL);
	gi_put(&image, RELOCATION(1, r_info), TLS_RELOC_DESCRIPTOR);
	gi_put(&image, GI_THREADS + 24, 0); /* the other one is too near */
	gi_put(&image, GI_NUMBER + 8, -16ULL);
	gi_put(&image, (__u32)second - 16, GI_ADDR + GI_STATE);
	assert_int_equal(find(), 0);
	assert_int_equal(place.state_at, -16);
}

/* It points to what __tls_get_addr() takes: the module's number, and the variable's position. */
static void descriptors_of_a_block(void **state)
{
	begin();
	gi_put(&image, RELOCATION(1, r_info), TLS_RELOC_DESCRIPTOR);
	gi_put(&image, GI_NUMBER + 8, GI_ADDR + GI_NUMBER);
	assert_int_equal(find(), 0);
	assert_int_equal(place.tls_module, GI_MODULE);
	assert_int_equal(place.state_at, GI_STATE_AT);
	gi_put(&image, GI_NUMBER + 8, GI_ADDR + GI_SIZE);
	assert_int_equal(find(), -EPROTONOSUPPORT);
}

/* ---- what is refused -------------------------------------------------------------------------- */

static void other_modules(void **state)
{
	char path[] = "/tmp/krait-test-place-XXXXXX";
	int other = gi_folder(path, "/x/_greenlets.so"), err;

	assert_true(other >= 0);
	begin();
	err = greenlet_place_find(other, &image.memory, &image.offsets, GI_ADDR + GI_RUNTIME,
				  &place);
	gi_remove_folder(other, path);
	assert_int_equal(err, -ENOENT);
	assert_refused(GI_TYPE + 24, GI_ADDR + GI_NAME_OF_TYPE, -EPROTONOSUPPORT);
	/* 1.x keeps nothing in such a variable. */
	assert_refused(GI_TYPE + 32, 160, -EPROTONOSUPPORT);
}

static void headers_that_say_nothing(void **state)
{
	assert_refused(0, 0, -EPROTONOSUPPORT);
	assert_refused(HEADER(0, p_type), PT_LOAD, -EPROTONOSUPPORT); /* no TLS block */
	assert_refused(HEADER(1, p_type), PT_LOAD, -EPROTONOSUPPORT); /* no dynamic section */
	assert_refused(HEADER(0, p_memsz), 0, -EPROTONOSUPPORT);
	assert_refused(HEADER(0, p_memsz), 520, -EPROTONOSUPPORT);
	assert_refused(HEADER(0, p_memsz), ~0ULL, -EPROTONOSUPPORT);
	assert_refused(offsetof(Elf64_Ehdr, e_phoff), 1ULL << 40, -EFAULT);
	assert_refused(offsetof(Elf64_Ehdr, e_phoff), ~0ULL, -EFAULT);
	assert_refused(HEADER(1, p_vaddr), GI_SIZE, -EFAULT);
	begin();
	image.bytes[offsetof(Elf64_Ehdr, e_phnum) + 1] = 1; /* 258 */
	assert_int_equal(find(), -EPROTONOSUPPORT);
	begin();
	image.bytes[offsetof(Elf64_Ehdr, e_phentsize)] = 8;
	assert_int_equal(find(), -EPROTONOSUPPORT);
}

static void dynamic_sections_without_an_end(void **state)
{
	begin();
	gi_put(&image, HEADER(1, p_vaddr), GI_SIZE - 2048);
	for (__u32 at = GI_SIZE - 2048; at < GI_SIZE; at += 8)
		gi_put(&image, at, DT_DEBUG);
	assert_int_equal(find(), -EPROTONOSUPPORT);
	assert_refused(DYNAMIC(1, d_tag), DT_REL, -EPROTONOSUPPORT); /* no relocations */
	assert_refused(DYNAMIC(0, d_tag), DT_RELSZ, -EPROTONOSUPPORT);
	assert_refused(DYNAMIC(1, d_un), ~0ULL, -EPROTONOSUPPORT);
}

static void relocations_without_a_number(void **state)
{
	assert_refused(RELOCATION(1, r_info), GI_OTHER_RELOC, -EPROTONOSUPPORT);
	assert_refused(RELOCATION(1, r_offset), GI_SIZE, -EPROTONOSUPPORT);
	assert_refused(RELOCATION(1, r_offset), ~0ULL, -EPROTONOSUPPORT);
	assert_refused(GI_NUMBER, 0, -EPROTONOSUPPORT);
	assert_refused(GI_NUMBER, 4097, -EPROTONOSUPPORT);
	assert_refused(GI_NUMBER, ~0ULL, -EPROTONOSUPPORT);
	/* It ends before the relevant one. */
	assert_refused(DYNAMIC(0, d_un), sizeof(Elf64_Rela), -EPROTONOSUPPORT);
}

static void variables_that_are_no_state(void **state)
{
	assert_refused(TABLE - 16, 4097, -EAGAIN); /* no table */
	assert_refused(TABLE - 16, ~0ULL, -EAGAIN);
	assert_refused(TABLE + GI_MODULE * 16, GI_ADDR + GI_BLOCK + 1, -EAGAIN);
	assert_refused(GI_POINTERS + GI_POINTER_SIZE + GI_POINTER_AT + gi_tables[0].at, 24,
		       -EAGAIN);
	assert_refused(GI_STATE, GI_ADDR + GI_CURRENT, -EAGAIN); /* no main greenlet */
	assert_refused(GI_STATE, 0, -EAGAIN);
	assert_refused(GI_STATE + 8, GI_ADDR + GI_TYPE, -EAGAIN);
	assert_refused(GI_STATE + 8, GI_ADDR + GI_MAIN + 1, -EAGAIN);
	/* The C++ object does not lead back to the greenlet, or to the state. */
	assert_refused(GI_MAIN_IMPL + 8, GI_ADDR + GI_CURRENT, -EAGAIN);
	assert_refused(GI_CURRENT_IMPL + 8, GI_ADDR + GI_MAIN, -EAGAIN);
	assert_refused(GI_MAIN_IMPL + GI_END + 8, GI_ADDR + GI_STATE + 8, -EAGAIN);
	assert_refused(GI_MAIN_IMPL + GI_END, GI_ADDR + GI_CURRENT, -EAGAIN);
	assert_refused(GI_MAIN + 8, GI_ADDR + GI_TYPE_OF_TYPE, -EAGAIN);
}

/* ---- what does not end ------------------------------------------------------------------------ */

/*
 * krait does not trust a circular list of threads beyond its repetition; a thread may be looked at
 * each time it appears.
 */
static void circles_of_threads_end(void **state)
{
	begin();
	gi_put(&image, GI_THREADS + GI_THREAD_SIZE + 8, GI_ADDR + GI_THREADS);
	assert_int_equal(find(), 0);
	/* A state that leads to itself, in both directions. */
	begin();
	gi_put(&image, GI_THREADS, 0);
	gi_put(&image, GI_THREADS + 8, GI_ADDR + GI_THREADS);
	assert_int_equal(find(), -EAGAIN);
}

/* The same two pages repeated through all memory. */
static int read_everywhere(void *ctx, __u64 addr, void *buf, size_t len)
{
	struct greenlet_image *x = ctx;

	x->reads++;
	for (size_t i = 0; i < len; i++)
		((__u8 *)buf)[i] = x->bytes[(addr + i) % GI_SIZE];
	return 0;
}

/* Every relocation is of a module number, with a different number each time. */
static int read_numbers(void *ctx, __u64 addr, void *buf, size_t len)
{
	const Elf64_Rela relocation = { GI_NUMBER, ELF64_R_INFO(0, TLS_RELOC_MODULE), 0 };
	struct greenlet_image *x = ctx;

	gi_put(x, GI_NUMBER, GI_MODULE + 1 + x->reads % 2);
	if (len != sizeof(relocation))
		return gi_read(ctx, addr, buf, len);
	x->reads++;
	memcpy(buf, &relocation, len);
	return 0;
}

/* Each is within its limit, but all together would take hours. */
static void more_than_can_be_looked_at(void **state)
{
	begin();
	image.memory.read = read_numbers;
	gi_put(&image, HEADER(0, p_memsz), 512);
	gi_put(&image, DYNAMIC(0, d_un), ~0ULL);
	gi_put(&image, GI_MAIN + 8, 0); /* no greenlet */
	for (__u32 i = 1; i <= 2; i++)
		gi_put(&image, TABLE + (GI_MODULE + i) * 16, GI_ADDR + GI_BLOCK);
	assert_int_equal(find(), -EPROTONOSUPPORT);
	assert_int_equal(image.reads, GREENLET_PLACE_READS);
}

static void damage_ends(void **state)
{
	struct rng rng = rng_from_environment();
	unsigned found = 0, refused = 0;

	for (int round = 0; round < 8000; round++) {
		__u32 cnt = 1 + rng_below(&rng, round % 2 ? 4 : 40);
		int err;

		gi_begin(&image, round & 1, round & 2);
		if (round % 8 == 0)
			image.memory.read = read_everywhere;
		while (cnt--)
			gi_put(&image, 8 * rng_below(&rng, 5400 / 8),
			       rng_below(&rng, 2) ? GI_ADDR + 8 * rng_below(&rng, GI_SIZE / 8) :
						    rng_next(&rng) >> rng_below(&rng, 64));
		err = find();
		assert_true(!err || err == -EAGAIN || err == -EPROTONOSUPPORT || err == -EFAULT);
		found += !err;
		refused += !!err;
	}
	/* Otherwise the test proved nothing. */
	assert_true(found > 1000 && refused > 1000);
}

static char folder_path[] = "/tmp/krait-test-place-XXXXXX";

static int make_folder(void **state)
{
	folder = gi_folder(folder_path, MODULE);
	return folder < 0 ? -1 : 0;
}

static int remove_folder(void **state)
{
	gi_remove_folder(folder, folder_path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_libraries_both_layouts),
		cmocka_unit_test(no_thread_has_asked_yet),
		cmocka_unit_test(modules_with_more_variables),
		cmocka_unit_test(descriptors_of_a_distance),
		cmocka_unit_test(descriptors_among_stubs),
		cmocka_unit_test(descriptors_of_a_block),
		cmocka_unit_test(other_modules),
		cmocka_unit_test(headers_that_say_nothing),
		cmocka_unit_test(dynamic_sections_without_an_end),
		cmocka_unit_test(relocations_without_a_number),
		cmocka_unit_test(variables_that_are_no_state),
		cmocka_unit_test(circles_of_threads_end),
		cmocka_unit_test(more_than_can_be_looked_at),
		cmocka_unit_test(damage_ends),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
