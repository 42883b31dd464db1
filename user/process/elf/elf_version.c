/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/elf/elf_version.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "process/elf/elf_file.h"
#include "process/elf/elf_symbol.h"
#include "python/layout/py_offsets.h"

#define CHUNK 65536
/* Longer than any version; a string cut by the end of a chunk appears again in the next. */
#define STRING_MAX 32
#define TAG "cpython-"

/* What the strings say: the first of each kind, and whether others contradict it. */
struct strings {
	__u32 minor;
	bool minors_differ;
	__u32 whole[16], tail[16]; /* by minor version: the full version, or DIFFERENT */
};
#define DIFFERENT (~0U)

static size_t digits(const char *text, size_t len, size_t max, unsigned *ret)
{
	size_t n = 0;

	*ret = 0;
	for (; n < len && n < max && isdigit((unsigned char)text[n]); n++)
		*ret = *ret * 10 + (unsigned)(text[n] - '0');
	return n;
}

static unsigned level_of(const char *text, size_t len, size_t *ret_len)
{
	static const struct {
		const char *name;
		unsigned level;
	} levels[] = { { "a", 0xa }, { "b", 0xb }, { "rc", 0xc } };

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		*ret_len = strlen(levels[i].name);
		if (len >= *ret_len && !memcmp(text, levels[i].name, *ret_len))
			return levels[i].level;
	}
	*ret_len = 0;
	return 0xf;
}

__u32 elf_version_parse(const char *text, size_t len)
{
	unsigned minor, micro, level, serial = 0;
	size_t pos = 2, n;

	if (len < 5 || memcmp(text, "3.", 2))
		return 0;
	n = digits(text + pos, len - pos, 2, &minor);
	pos += n;
	if (!n || pos == len || text[pos++] != '.')
		return 0;
	n = digits(text + pos, len - pos, 2, &micro);
	pos += n;
	if (!n)
		return 0;
	level = level_of(text + pos, len - pos, &n);
	pos += n;
	if (level != 0xf) {
		n = digits(text + pos, len - pos, 1, &serial);
		pos += n;
		if (!n)
			return 0;
	}
	/* "+" marks a build between two releases: it has the layout of the earlier one. */
	if (pos < len && text[pos] == '+')
		pos++;
	return pos == len ? 3U << 24 | minor << 16 | micro << 8 | level << 4 | serial : 0;
}

static void note(__u32 *slot, __u32 version)
{
	if (*slot && *slot != version)
		version = DIFFERENT;
	*slot = version;
}

/* text[0..len) ends with a NUL; before is the byte that precedes it. */
static void note_string(struct strings *s, char before, const char *text, size_t len)
{
	unsigned minor;

	if (text[0] == '3') {
		__u32 version = elf_version_parse(text, len);

		if (version && (version >> 16 & 0xff) < 16)
			note(before ? &s->tail[version >> 16 & 15] : &s->whole[version >> 16 & 15],
			     version);
	} else if (len > strlen(TAG) + 1 && !memcmp(text, TAG "3", strlen(TAG) + 1) &&
		   digits(text + strlen(TAG) + 1, len, 2, &minor) == len - strlen(TAG) - 1) {
		s->minors_differ |= s->minor && s->minor != minor;
		s->minor = minor;
	}
}

/* Strings that begin in [1, end) of buf[0..len). */
static void scan(struct strings *s, const char *buf, size_t end, size_t len)
{
	for (size_t i = 1; i < end; i++) {
		const char *nul;
		size_t max = len - i < STRING_MAX ? len - i : STRING_MAX;

		if (buf[i] != '3' && buf[i] != 'c')
			continue;
		if (isalnum((unsigned char)buf[i - 1]) || buf[i - 1] == '.' || buf[i - 1] == '_')
			continue;
		if (max < 5 || (memcmp(buf + i, "3.", 2) && memcmp(buf + i, "cpyth", 5)))
			continue;
		nul = memchr(buf + i, '\0', max);
		if (nul)
			note_string(s, buf[i - 1], buf + i, (size_t)(nul - (buf + i)));
	}
}

static int scan_segment(struct elf_file *f, struct strings *s, const Elf64_Phdr *p)
{
	static const size_t step = CHUNK - STRING_MAX;
	char buf[1 + CHUNK];
	int r = 0;

	buf[0] = '\0';
	for (__u64 pos = 0; !r && pos < p->p_filesz; pos += step) {
		__u64 left = p->p_filesz - pos;
		size_t len = left < CHUNK ? (size_t)left : CHUNK;

		r = elf_file_read(f, p->p_offset + pos, buf + 1, len);
		if (!r)
			scan(s, buf, 1 + (left > step ? step : len), 1 + len);
		buf[0] = buf[step];
	}
	return r;
}

static __u32 from_strings(struct elf_file *f)
{
	struct strings s = { 0 };
	__u32 version;

	for (unsigned i = 0; i < f->phdr_cnt; i++)
		if (f->phdrs[i].p_type == PT_LOAD && !(f->phdrs[i].p_flags & PF_W) &&
		    scan_segment(f, &s, &f->phdrs[i]))
			return 0;
	if (!s.minor || s.minors_differ || s.minor >= 16)
		return 0;
	version = s.whole[s.minor] ? s.whole[s.minor] : s.tail[s.minor];
	if (!version || version == DIFFERENT)
		return 3U << 24 | s.minor << 16 | PY_MICRO_UNKNOWN << 8 | 0xf0;
	return version;
}

__u32 elf_version_find(struct elf_file *f)
{
	Elf64_Sym sym;
	__u64 version;

	if (!elf_symbol_dynamic(f, "Py_Version", &sym) || !elf_symbol_tables(f, "Py_Version", &sym))
		if (!elf_file_read_vaddr(f, sym.st_value, &version, sizeof(version)) &&
		    version <= ~0U)
			return (__u32)version;
	return from_strings(f);
}
