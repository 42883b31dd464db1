/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nothing.c - attaches the first program of a BPF object until its input ends: shows what an empty
 * program costs by the same statistics as others. usage: nothing OBJECT
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct bpf_object *object = argc == 2 ? bpf_object__open_file(argv[1], NULL) : NULL;
	struct bpf_link *link;
	char c;

	if (!object || bpf_object__load(object))
		return 1;
	link = bpf_program__attach(bpf_object__next_program(object, NULL));
	if (!link)
		return 1;
	puts("READY");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	bpf_link__destroy(link);
	bpf_object__close(object);
	return 0;
}
