/* SPDX-License-Identifier: BSD-2-Clause */
/* support_split.c - builds libraries with split DWARF, and asks about them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_split.h"
#include "symbol/dwo_file.h"
#include "symbol/elf_symbols.h"
#include "util/cleanup.h"

/*
 * Functions inlined into each other, in blocks and loops, from another file, and in several pieces
 * (-ffunction-sections).
 */
static const char header[] =
	"static inline __attribute__((always_inline)) unsigned mix(unsigned a)\n"
	"{\n"
	"	for (unsigned i = 0; i < a % 7; i++)\n"
	"		a = a * 31 + (a >> 3);\n"
	"	return a;\n"
	"}\n";
static const char first[] =
	"#include \"mix.h\"\n"
	"extern int outside(unsigned);\n"
	"static inline __attribute__((always_inline)) unsigned twice(unsigned a)\n"
	"{\n"
	"	unsigned b = mix(a);\n"
	"	if (b & 1) {\n"
	"		unsigned c = mix(b + 3);\n"
	"		outside(c);\n"
	"		return c;\n"
	"	}\n"
	"	return b ^ mix(a + 1);\n"
	"}\n"
	"unsigned spin(unsigned n)\n"
	"{\n"
	"	unsigned s = 0;\n"
	"	while (n--) {\n"
	"		if (__builtin_expect(outside(s) < 0, 0))\n"
	"			__builtin_trap();\n"
	"		s += twice(n);\n"
	"	}\n"
	"	return s;\n"
	"}\n"
	"__attribute__((cold)) unsigned rare(unsigned n) { return twice(n) + spin(n); }\n";
static const char second[] =
	"#include \"mix.h\"\n"
	"namespace work {\n"
	"struct Mixer {\n"
	"	unsigned salt;\n"
	"	template <typename T> inline __attribute__((always_inline)) T twist(T a) { return mix(a) ^ salt; }\n"
	"	unsigned churn(unsigned n);\n"
	"};\n"
	"unsigned Mixer::churn(unsigned n) { return twist<unsigned>(n) + (unsigned)twist<long>(n + 1); }\n"
	"}\n"
	"extern \"C\" int outside(unsigned n) { work::Mixer m = { n }; return (int)m.churn(n); }\n";

char split_folder[TEST_FOLDER_MAX];

int split_setup(void **state)
{
	char path[TEST_FOLDER_MAX + 16];

	test_folder_make(split_folder);
	snprintf(path, sizeof(path), "%s/mix.h", split_folder);
	test_file_put(path, header);
	snprintf(path, sizeof(path), "%s/first.c", split_folder);
	test_file_put(path, first);
	snprintf(path, sizeof(path), "%s/second.cc", split_folder);
	test_file_put(path, second);
	return 0;
}

int split_teardown(void **state)
{
	test_folder_remove(split_folder);
	return 0;
}

/* ---- libraries ---------------------------------------------------------------------------------- */

bool split_run(const char *format, ...)
{
	char words[512], command[sizeof(words) + TEST_FOLDER_MAX + 64];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	/* A compiler cache may return a result from another folder. */
	snprintf(command, sizeof(command), "cd %s && export CCACHE_DISABLE=1 && %s >/dev/null 2>&1",
		 split_folder, words);
	return !system(command);
}

bool split_has(const char *tool)
{
	return split_run("command -v %s", tool);
}

/* Builds name.so from both sources; .dwo files, if any, are name-first.dwo and name-second.dwo. */
static bool build(const char *name, const char *cc, const char *flags)
{
	return split_run("%s -O2 -fPIC -g %s -c first.c -o %s-first.o", cc, flags, name) &&
	       split_run("%s -O2 -fPIC -g %s -x c++ -c second.cc -o %s-second.o", cc, flags,
			 name) &&
	       split_run("%s -shared -nostdlib -Wl,--build-id=none -o %s.so %s-first.o %s-second.o",
			 cc, name, name, name);
}

struct elf_symbols *split_open(const char *name)
{
	char path[TEST_FOLDER_MAX + 64];
	struct elf_symbols *s = NULL;
	cleanup_close int fd = -1;

	snprintf(path, sizeof(path), "%s/%s.so", split_folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_symbols__new(&s, fd, -1), 0);
	return s;
}

/* Finds the code's position in the file by its program headers. */
void split_code(const char *name, __u64 *ret_start, __u64 *ret_end)
{
	char path[TEST_FOLDER_MAX + 64];
	cleanup_close int fd = -1;
	Elf64_Ehdr file;

	snprintf(path, sizeof(path), "%s/%s.so", split_folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(fd, &file, sizeof(file), 0), sizeof(file));
	for (unsigned i = 0; i < file.e_phnum; i++) {
		Elf64_Phdr p;

		assert_int_equal(pread(fd, &p, sizeof(p), (off_t)(file.e_phoff + i * sizeof(p))),
				 sizeof(p));
		if (p.p_type != PT_LOAD || !(p.p_flags & PF_X))
			continue;
		*ret_start = p.p_offset;
		*ret_end = p.p_offset + p.p_filesz;
	}
}

/* ---- answers ------------------------------------------------------------------------------------- */

static int open_in_folder(const char *in, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", in, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

unsigned source_ask(struct source *s, __u64 offset, struct source_frame *frames)
{
	for (unsigned i = 0; i < 100; i++) {
		struct dwarf_wanted wanted;
		unsigned cnt = elf_symbols__source(s->symbols, offset, frames, &wanted);
		cleanup_close int fd = -1;

		if (wanted.what == DWARF_WANT_NOTHING)
			return cnt;
		assert_int_equal(cnt, 0);
		if (wanted.what == DWARF_WANT_PACKAGE) {
			s->packages++;
			fd = s->package ? open_in_folder(split_folder, s->package) : -1;
			assert_true(!s->package || fd >= 0);
		} else {
			s->halves++;
			assert_string_equal(wanted.folder, split_folder);
			fd = s->instead ? open_in_folder(split_folder, s->instead) :
					  open_in_folder(wanted.folder, wanted.name);
		}
		s->err = elf_symbols__add(s->symbols, wanted.what, wanted.id, fd);
	}
	fail_msg("it wants ever more");
	return 0;
}

bool split_build_both(const char *cc, unsigned version, const char *more)
{
	char flags[128];

	snprintf(flags, sizeof(flags), "-gdwarf-%u %s", version, more);
	if (!split_has(cc) || !build("plain", cc, flags))
		return false;
	snprintf(flags, sizeof(flags), "-gdwarf-%u -gsplit-dwarf %s", version, more);
	return build("split", cc, flags);
}

bool split_build(const char *cc, unsigned version)
{
	char flags[64];

	snprintf(flags, sizeof(flags), "-gdwarf-%u -gsplit-dwarf", version);
	return split_has(cc) && build("split", cc, flags);
}
