// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that claims to be CPython 3.15 (tests/targets/fake_runtime.c) and never has the same
 * stack twice.
 *
 *   flood stacks    800 frames, of 64 functions in an ever new order
 *   flood codes     64 functions, ever new, each with 8,000 bytes of lines
 *   flood names     likewise, with names of 900 bytes
 *   flood threads   as stacks, in threads that last for some milliseconds
 */
#define main fake_main
#include "../../targets/fake_runtime.c"
#undef main

#include <stdbool.h>
#include <unistd.h>

#define DEPTH 800
#define FUNCTIONS 64
#define TABLE 8000 /* the longest that the kernel side accepts */
#define NAME 900

struct long_string {
	struct string head;
	char more[NAME];
};

static struct code functions[FUNCTIONS];
static struct long_string function_names[FUNCTIONS];
static struct {
	uint64_t refcnt, type, size, hash;
	unsigned char data[TABLE];
} tables[FUNCTIONS];
static unsigned seed = 1;

static void name_it(int i, int length)
{
	struct string *s = &function_names[i].head;

	make_string(s, "flood_");
	for (int at = 6; at < length; at++)
		s->text[at] = (char)('a' + rand_r(&seed) % 26);
	s->length = (uint64_t)length;
}

static void make_functions(int length)
{
	for (int i = 0; i < FUNCTIONS; i++) {
		name_it(i, length);
		make_code(&functions[i], &function_names[i].head);
		tables[i].refcnt = 1;
		tables[i].size = TABLE;
		for (int at = 0; at < TABLE; at += 2) {
			tables[i].data[at] = 0xe8; /* one unit, a line delta */
			tables[i].data[at + 1] = 3;
		}
	}
}

static void shuffle(int depth, bool order)
{
	for (int i = 0; i < depth; i++)
		link_frame(&frames[i],
			   &functions[order ? rand_r(&seed) % FUNCTIONS : i % FUNCTIONS],
			   i + 1 < depth ? &frames[i + 1] : &entry);
}

static void renew(bool names)
{
	for (int i = 0; i < FUNCTIONS; i++) {
		if (names)
			name_it(i, NAME);
		functions[i].first_line++;
		functions[i].linetable = addr(&tables[i]);
		functions[i].filename = addr(&strings[2]);
		functions[i].pad2[0]++; /* changes a field that identifies the code object */
		functions[i].instructions[0]++;
	}
	interp[INTERP_GENERATION / 8]++;
}

static void burn(void)
{
	for (volatile int i = 0; i < 200000; i++)
		;
}

static void *short_life(void *arg)
{
	for (int i = 0; i < 3; i++)
		burn();
	return NULL;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	bool stacks = !strcmp(what, "stacks"), names = !strcmp(what, "names");
	int depth = stacks ? DEPTH : FUNCTIONS;

	make_sound();
	make_functions(names ? NAME : 12);
	_PyRuntime[HEAD / 8] = addr(interp);
	shuffle(depth, stacks);
	puts("READY");
	fflush(stdout);
	while (!strcmp(what, "threads")) {
		pthread_t one[8];

		for (int i = 0; i < 8; i++)
			pthread_create(&one[i], NULL, short_life, NULL);
		for (int i = 0; i < 8; i++)
			pthread_join(one[i], NULL);
	}
	for (;;) {
		if (stacks)
			shuffle(depth, true);
		else
			renew(names);
		burn();
	}
}
