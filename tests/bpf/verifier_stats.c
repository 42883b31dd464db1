/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verifier_stats.c - prints the verdict of this kernel's verifier on each program of a BPF object.
 *
 * usage: verifier_stats FILE... Prints one line per program: its name, and how many instructions
 * the verifier processed, or "-" if this kernel refuses it (sample_loop needs 5.17); then the
 * verifier's last words go to stderr. Attaches nothing.
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_STATS 4 /* BPF_LOG_STATS, include/linux/bpf_verifier.h */

static int silent(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

/* Prints the end of the log without the line of statistics. */
static void print_reason(const char *name, char *log)
{
	char *end = strstr(log, "processed ");
	size_t len;

	if (end)
		*end = '\0';
	len = strlen(log);
	fprintf(stderr, "%s: %s\n", name, len > 300 ? log + len - 300 : log);
}

/* Loads only that program from a fresh copy of the object. Returns instructions, or -1. */
static long processed(const char *path, const char *name)
{
	static char log[16 << 20]; /* if this is too short, the kernel refuses the program */
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;
	const char *line;
	long cnt = -1;

	if (!object)
		return -1;
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, !strcmp(bpf_program__name(program), name));
	program = bpf_object__find_program_by_name(object, name);
	bpf_program__set_log_level(program, LOG_STATS);
	bpf_program__set_log_buf(program, log, sizeof(log));
	log[0] = '\0';
	if (!bpf_object__load(object)) {
		line = strstr(log, "processed ");
		if (!line || sscanf(line, "processed %ld insns", &cnt) != 1)
			cnt = -1;
	} else {
		print_reason(name, log);
	}
	bpf_object__close(object);
	return cnt;
}

static int print_object(const char *path)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;

	if (!object) {
		fprintf(stderr, "%s: cannot be opened\n", path);
		return 1;
	}
	bpf_object__for_each_program(program, object) {
		const char *name = bpf_program__name(program);
		long cnt = processed(path, name);

		if (cnt < 0)
			printf("%s -\n", name);
		else
			printf("%s %ld\n", name, cnt);
	}
	bpf_object__close(object);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	libbpf_set_print(silent);
	for (int i = 1; i < argc; i++)
		failed |= print_object(argv[i]);
	return failed;
}
