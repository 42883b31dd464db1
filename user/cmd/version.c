/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * version.c - "krait version": with -v what this krait is built of, for a report of a fault.
 */
#include "cmd/common/commands.h"

#include <argp.h>
#include <bpf/libbpf.h>
#include <curses.h>
#include <elfutils/libdwfl.h>
#include <gnu/libc-version.h>
#include <lzma.h>
#include <protobuf-c/protobuf-c.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <zlib.h>
#include <zstd.h>

#include "bpf/arch.h"
#include "cmd/common/arguments.h"
#include "kernel/sampler/programs.h"
#include "agent/serve/httpd_library.h"
#include "native/names/demangle.h"
#include "base/system/error.h"
#include "base/worker/curl_library.h"

static const struct argp_option option_table[] = {
	{ "verbose", 'v', NULL, 0,
	  "also print compilers and libraries, and what they make possible here", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	bool *verbose = state->input;

	switch (key) {
	case 'v':
		*verbose = true;
		return 0;
	case ARGP_KEY_ARG:
		arguments_refuse(state, "unexpected argument \"%s\"", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.doc = "Print the version. With -v also print what this krait is built of: include that when "
	       "you report a fault.",
};

/* "libseccomp 2.5.4": that of the library in this process, which may differ from that of its headers. */
static void print_linked(void)
{
	const struct scmp_version *seccomp = seccomp_version();

	printf("libraries  glibc %s, libbpf %s, elfutils %s, zlib %s, liblzma %s, libzstd %s,\n",
	       gnu_get_libc_version(), libbpf_version_string() + 1, dwfl_version(NULL),
	       zlibVersion(), lzma_version_string(), ZSTD_versionString());
	printf("           protobuf-c %s, libseccomp %u.%u.%u, %s\n", protobuf_c_version(),
	       seccomp ? seccomp->major : 0, seccomp ? seccomp->minor : 0,
	       seccomp ? seccomp->micro : 0, curses_version());
}

/* What only some processes of krait load. */
static void print_loaded(void)
{
	struct curl_library curl;
	struct httpd_library httpd;

	if (curl_library_load(&curl))
		puts("sending    no: libcurl.so.4 is missing (agent --otlp-endpoint, debuginfod)");
	else
		printf("sending    %s\n", curl.version());
	if (httpd_library_load(&httpd))
		puts("listening  no: libmicrohttpd.so.12 is missing (agent --listen)");
	else
		printf("listening  libmicrohttpd %s\n", httpd.version());
	if (demangle_knows_cpp())
		puts("C++ names  yes");
	else
		puts("C++ names  no: libstdc++.so.6 is missing");
}

static void print_build(void)
{
	struct utsname machine;

#ifdef KRAIT_STATIC
	const char *kind = "one static file";
#else
	const char *kind = "with shared libraries";
#endif

#ifdef __clang__
	printf("built      for " ARCH_NAME ", %s, by clang %s\n", kind, __clang_version__);
#else
	printf("built      for " ARCH_NAME ", %s, by gcc %s\n", kind, __VERSION__);
#endif
	printf("BPF        by %s\n", programs_compiler());
	if (!uname(&machine))
		printf("kernel     %s %s\n", machine.sysname, machine.release);
}

int cmd_version(int argc, char **argv)
{
	bool verbose = false;

	arguments_parse(&parser, argc, argv, 0, &verbose);
	puts("krait " KRAIT_VERSION);
	if (!verbose)
		return EXIT_CODE_OK;
	print_build();
	print_linked();
	print_loaded();
	return EXIT_CODE_OK;
}
