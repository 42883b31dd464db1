/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_fake_random.h"

#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_SEED 20260115ULL
#define MAX_MINE 4

struct rng rng_from_environment(void)
{
	const char *text = getenv("KRAIT_SEED");
	struct rng rng = { text ? strtoull(text, NULL, 0) : DEFAULT_SEED };

	printf("# KRAIT_SEED=%llu\n", rng.state);
	fflush(stdout);
	return rng;
}

/* splitmix64 */
__u64 rng_next(struct rng *rng)
{
	__u64 z = rng->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

__u32 rng_below(struct rng *rng, __u32 limit)
{
	return (rng_next(rng) >> 33) % limit;
}

static void random_stack(struct fake_stack *s, struct fake *f, struct rng *rng, __u64 tstate_addr)
{
	__u32 cnt = rng_below(rng, rng_below(rng, 50) ? 40 : KRAIT_MAX_FRAMES - 8);

	fake_stack_begin(s, f, tstate_addr);
	if (!cnt)
		return;
	fake_push_entry(s);
	while (cnt--) {
		__u32 kind = rng_below(rng, 6);

		if (!f->code_addr || rng_below(rng, 3) == 0)
			fake_code(f);
		if (kind == 0)
			fake_push_entry(s);
		else
			fake_push(s, kind == 1 ? FAKE_GENERATOR : FAKE_THREAD, f->code_addr,
				  2 * rng_below(rng, 3000));
	}
}

/* The search goes from newest to oldest, so among several unbound states it ends with the oldest. */
void fake_random(struct fake *f, struct rng *rng, __u64 self, struct fake_stack *ret_mine)
{
	struct fake_stack *other = malloc(sizeof(*other));
	int mine = rng_below(rng, MAX_MINE), bound = rng_below(rng, MAX_MINE), seen = 0;

	if (!other)
		abort();
	ret_mine->tstate_addr = 0;
	for (__u32 interps = 1 + rng_below(rng, 3); interps; interps--) {
		__u64 interp_addr = fake_interp(f);

		if (f->offsets.interp.code_object_generation != PYOFF_ABSENT)
			fake_put(f, interp_addr + f->offsets.interp.code_object_generation,
				 rng_below(rng, 1000));
		for (__u32 i = rng_below(rng, 12); i; i--) {
			bool is_mine = seen < mine && rng_below(rng, 4) == 0;
			bool is_bound = !is_mine || seen == bound;
			__u64 addr = fake_thread(f, interp_addr, is_mine ? self : self + 64 * i,
						 is_bound ? FAKE_STATUS_BOUND : FAKE_STATUS_IDLE);
			bool is_meant = is_mine && (seen == 0 || is_bound);

			random_stack(is_meant ? ret_mine : other, f, rng, addr);
			seen += is_mine;
		}
	}
	free(other);
}

/* Most of an interpreter's bytes are never read, so prefers a place that is in use. */
static __u64 random_place(struct fake *f, struct rng *rng)
{
	__u64 addr = f->addr + (rng_below(rng, f->used) & ~7U);

	for (int tries = 0; tries < 50 && !fake_get(f, addr); tries++)
		addr = f->addr + (rng_below(rng, f->used) & ~7U);
	return addr;
}

static __u64 random_word(struct fake *f, struct rng *rng)
{
	__u64 inside = f->addr + rng_below(rng, f->used), word;

	switch (rng_below(rng, 7)) {
	case 0:
		return 0;
	case 1:
		return inside;
	case 2:
		return rng_below(rng, 4096);
	case 3:
		return rng_next(rng) | 1ULL << 63;
	case 4:
		return inside & ~15ULL;
	default:
		/* A pointer that occurs elsewhere, but not the one to this thread: the kernel can read that. */
		word = fake_get(f, random_place(f, rng));
		return word >> 47 || word < 1ULL << 32 || word - f->addr < f->size ? word : 0;
	}
}

void fake_mutate(struct fake *f, struct rng *rng, __u32 cnt)
{
	while (cnt--) {
		__u64 addr = random_place(f, rng);

		if (rng_below(rng, 4))
			fake_put(f, addr, random_word(f, rng));
		else
			fake_put_u8(f, addr + rng_below(rng, 8), rng_below(rng, 6));
	}
}
