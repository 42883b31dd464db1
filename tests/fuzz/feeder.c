/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * feeder.c - feeds a fuzzer's function without libFuzzer and clang: files, whole or damaged, and
 * random bytes.
 *
 * Linked with a fuzz_*.c in the sanitized build of the unit tests. It has no feedback from
 * coverage, unlike libFuzzer (`make fuzz`, and `make check-fuzz` for a second), but it starts from
 * whole files, always takes the same inputs, and needs no build of its own.
 *
 * usage: feed_NAME INPUTS SECONDS ARTIFACT [FILE...]
 *
 * Ends after so many inputs, or after so many seconds of CPU time if that is sooner. An input that
 * takes 10 s or crashes the program is saved in the file ARTIFACT.
 */
#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define INPUT_MAX (64U << 10)
#define SEEDS_MAX 8
#define INPUT_SECS 10
/* Each file is also taken unchanged; so is an empty input. */
#define DAMAGES_MAX 6

/* Some fuzzers need preparation. */
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seed {
	size_t size;
	uint8_t data[INPUT_MAX];
};

/* Data for signal handlers. */
static struct {
	const char *path;
	const uint8_t *data;
	size_t size;
} now;

static void keep(void)
{
	int fd = open(now.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd >= 0)
		(void)!write(fd, now.data, now.size);
}

static void on_alarm(int number)
{
	static const char text[] = "an input takes too long\n";

	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	keep();
	_exit(1);
}

/* splitmix64, by Sebastiano Vigna. */
static uint64_t chance(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* Short inputs are more likely. */
static size_t make(uint64_t *state, uint8_t *data)
{
	static const char texts[] = "\n\t ;:,./-=0123456789abcdefx[]()\\\"'<>{}%";
	size_t size = chance(state) % (1U << (chance(state) % 13));
	uint64_t kind = chance(state) % 4;

	for (size_t i = 0; i < size; i++) {
		uint64_t r = chance(state);

		if (kind == 0)
			data[i] = r;
		else if (kind == 1)
			data[i] = r % 3;
		else if (kind == 2)
			data[i] = texts[r % (sizeof(texts) - 1)];
		else
			data[i] = r % 4 ? 0 : r >> 8;
	}
	return size;
}

/*
 * Changes one place: other bytes, a number at the limit of its type, or bytes from elsewhere; or
 * removes bytes, or the end.
 */
static size_t damage(uint64_t *state, uint8_t *data, size_t size)
{
	static const uint64_t limits[] = { 0,	     1,		 0x7f,	    0x80,
					   0xff,     0x7fff,	 0xffff,    INT32_MAX,
					   1U << 31, UINT32_MAX, INT64_MAX, UINT64_MAX };
	uint64_t word = limits[chance(state) % (sizeof(limits) / sizeof(*limits))];
	size_t at = chance(state) % size, width = (size_t)1 << (chance(state) % 4),
	       from = chance(state) % size;
	size_t most = size - (at > from ? at : from);

	if (width > size - at)
		width = size - at;
	switch (chance(state) % 6) {
	case 0:
		data[at] ^= 1U << (chance(state) % 8);
		break;
	case 1:
		data[at] = chance(state);
		break;
	case 2:
	case 3:
		memcpy(data + at, &word, width);
		break;
	case 4:
		memmove(data + at, data + from, chance(state) % (most < 256 ? most : 256));
		break;
	default:
		if (chance(state) % 4 == 0)
			return at;
		memmove(data + at, data + at + width, size - at - width);
		size -= width;
	}
	return size;
}

/*
 * Uses an allocation of exactly that size, as libFuzzer does, so that AddressSanitizer notices
 * reads beyond it.
 */
static void give(const uint8_t *data, size_t size)
{
	uint8_t *own = malloc(size ? size : 1);

	if (!own)
		abort();
	memcpy(own, data, size);
	now.data = own;
	now.size = size;
	alarm(INPUT_SECS);
	LLVMFuzzerTestOneInput(own, size);
	alarm(0);
	free(own);
}

static size_t read_seed(const char *path, struct seed *s)
{
	FILE *f = fopen(path, "re");

	if (!f) {
		perror(path);
		exit(2);
	}
	s->size = fread(s->data, 1, sizeof(s->data), f);
	fclose(f);
	return s->size;
}

int main(int argc, char **argv)
{
	static struct seed seeds[SEEDS_MAX];
	static uint8_t data[INPUT_MAX];
	unsigned long inputs, cnt = 0;
	uint64_t state = 1;
	int seed_cnt = 0;
	clock_t end;

	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	if (argc < 4)
		return 2;
	inputs = strtoul(argv[1], NULL, 10);
	end = clock() + (clock_t)strtoul(argv[2], NULL, 10) * CLOCKS_PER_SEC;
	now.path = argv[3];
	__sanitizer_set_death_callback(keep);
	signal(SIGALRM, on_alarm);
	give(data, 0);
	for (int i = 4; i < argc && seed_cnt < SEEDS_MAX; i++)
		if (read_seed(argv[i], &seeds[seed_cnt])) {
			memcpy(data, seeds[seed_cnt].data, seeds[seed_cnt].size);
			give(data, seeds[seed_cnt++].size);
		}
	for (; cnt < inputs && clock() < end; cnt++) {
		const struct seed *s = seed_cnt && chance(&state) % 8 ?
					       &seeds[chance(&state) % (unsigned)seed_cnt] :
					       NULL;
		size_t size = s ? s->size : make(&state, data);

		if (s)
			memcpy(data, s->data, size);
		for (unsigned i = s ? 1 + chance(&state) % DAMAGES_MAX : 0; i && size; i--)
			size = damage(&state, data, size);
		give(data, size);
	}
	printf("%lu inputs, and %d files\n", cnt, seed_cnt);
	return 0;
}
