/* SPDX-License-Identifier: BSD-2-Clause */
#include "sampler/programs.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "krait.skel.h"
#include "sampler/kernel_btf.h"
#include "util/cleanup.h"
#include "util/error.h"
#include "util/log.h"

/* Lines of a verifier's log that -v shows: the end of it has the reason. */
#define VERIFIER_LINES 40

/* The verifier's reason for refusing a program; libbpf's callback has no context. */
static char verifier_says[160];

/* A log ends with the reason, and a line of statistics. */
static void note_verifier(const char *line)
{
	if (*line && strncmp(line, "processed ", 10) && strncmp(line, "--", 2) &&
	    strncmp(line, "libbpf: ", 8))
		snprintf(verifier_says, sizeof(verifier_says), "%s", line);
}

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	cleanup_free char *text = NULL;
	char *rest, *line;
	bool is_log;
	int left = 0;

	/* Each relocation of each program is a line there. */
	if (level == LIBBPF_DEBUG || vasprintf(&text, fmt, ap) < 0)
		return 0;
	is_log = strstr(text, "BEGIN PROG LOAD LOG");
	for (const char *c = text; *c; c++)
		left += *c == '\n';
	/* Its warnings repeat what our own error says, in the words of an expert. */
	for (rest = text; (line = strsep(&rest, "\n")); left--) {
		if (is_log)
			note_verifier(line);
		if (*line && left <= VERIFIER_LINES)
			log_debug("libbpf", "%s", line);
	}
	return 0;
}

/* libbpf reads the types when it loads the programs. NULL: without them, or not at all. */
static struct krait_bpf *open_with_types(int types_fd)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct krait_bpf *skel = NULL;
	char path[64];
	int err = -EBADF;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", types_fd);
	opts.btf_custom_path = path;
	if (types_fd >= 0)
		skel = krait_bpf__open_opts(&opts);
	if (skel)
		err = kernel_btf_write(bpf_object__btf(skel->obj), KERNEL_BTF, types_fd);
	if (!err)
		return skel;
	log_debug("sampler", "no excerpt of the kernel's types: %s", strerror(-err));
	krait_bpf__destroy(skel);
	return NULL;
}

struct krait_bpf *programs_open(int *ret_types_fd)
{
	struct krait_bpf *skel;

	libbpf_set_print(print_libbpf);
	*ret_types_fd = memfd_create("krait-types", MFD_CLOEXEC);
	skel = open_with_types(*ret_types_fd);
	return skel ? skel : krait_bpf__open();
}

int programs_load(struct krait_bpf *skel, struct error *err)
{
	int result;

	verifier_says[0] = '\0';
	result = krait_bpf__load(skel);
	if (result && verifier_says[0])
		return error_set(
			err, -result, EXIT_CODE_KERNEL,
			"this kernel's verifier refuses krait's BPF programs: %s (all of it: -v; "
			"please report it)",
			verifier_says);
	if (result == -EPERM || result == -EACCES)
		return error_set(err, -result, EXIT_CODE_PERMISSION,
				 "the kernel refuses to load BPF programs: %s (see -v)",
				 strerror(-result));
	if (result)
		return error_set(err, -result, EXIT_CODE_KERNEL,
				 "the kernel does not take krait's BPF programs: %s (see -v)",
				 strerror(-result));
	return 0;
}
