/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/probe_places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/printable.h"
#include "native/rows/code_state.h"
#include "process/elf/elf_file.h"
#include "process/elf/elf_symbol.h"

/* Bytes of a function that are looked at: a probe that far within one is rare. */
#define CODE_MAX 16384
/* The type of notes in .note.stapsdt: sys/sdt.h, _SDT_NOTE_TYPE. */
#define SDT_NOTE_TYPE 3
/* What one note may have: three addresses and three names. Arguments of inlined C++ take some hundred bytes. */
#define NOTE_MAX 2048
/* libstdc++ has five notes, libc some hundred, a JVM 500. */
#define NOTES_MAX 8192

/* ---- functions -------------------------------------------------------------------------------- */

/* Does an instruction begin at offset, if one begins at 0? */
static bool begins_insn(const __u8 *code, __u64 size, __u64 offset)
{
	__u64 at = 0;

	while (at < offset) {
		struct code_insn insn = code_insn(code + at, size - at);

		if (insn.kind == CODE_BAD || !insn.len)
			return false;
		at += insn.len;
	}
	return at == offset;
}

static int check_offset(struct elf_file *f, const Elf64_Sym *sym, __u64 offset)
{
	__u8 code[CODE_MAX];
	__u64 at, have;

	if (!offset)
		return 0;
	if (offset >= sym->st_size || offset >= sizeof(code) - 16 ||
	    !elf_file_offset(f, sym->st_value, &at, &have))
		return -EILSEQ;
	if (have > sizeof(code))
		have = sizeof(code);
	if (elf_file_read(f, at, code, have))
		return -EILSEQ;
	return begins_insn(code, have, offset) ? 0 : -EILSEQ;
}

static bool is_code(const struct elf_file *f, __u64 vaddr, __u64 *ret_offset)
{
	const Elf64_Phdr *p = elf_file_segment(f, vaddr);
	__u64 have;

	return p && p->p_flags & PF_X && elf_file_offset(f, vaddr, ret_offset, &have);
}

static int add_function(struct elf_file *f, const Elf64_Sym *sym, __u64 offset,
			struct parser_probes *ret)
{
	__u64 at;
	int r = check_offset(f, sym, offset);

	if (r)
		return r;
	if (!is_code(f, sym->st_value + offset, &at))
		return -EILSEQ;
	for (__u32 i = 0; i < ret->cnt; i++)
		if (ret->list[i].offset == at)
			return 0;
	ret->list[ret->cnt++] = (struct parser_probe){ .offset = at };
	return 0;
}

static int find_function(struct elf_file *f, const char *text, struct parser_probes *ret)
{
	Elf64_Sym syms[PROBE_PLACES_MAX + 1];
	char name[PROBE_NAME_MAX], *plus, *end;
	__u64 offset = 0;
	int cnt = 1, r;

	snprintf(name, sizeof(name), "%s", text);
	plus = strrchr(name, '+');
	if (plus) {
		*plus++ = '\0';
		offset = strtoull(plus, &end, 0);
		if (end == plus || *end || *plus == '-')
			return -EINVAL;
	}
	r = elf_symbol_function(f, name, &syms[0]);
	if (r && r != -EOPNOTSUPP)
		r = cnt = elf_symbol_functions_in_tables(f, name, syms, PROBE_PLACES_MAX + 1);
	if (r < 0)
		return r == -ENOENT || r == -ENODATA ? 0 : r;
	if (cnt > PROBE_PLACES_MAX)
		return -E2BIG;
	for (int i = 0; i < cnt; i++) {
		r = add_function(f, &syms[i], offset, ret);
		if (r)
			return r;
	}
	return 0;
}

/* ---- marks ------------------------------------------------------------------------------------ */

struct mark {
	__u64 address, base, counter; /* as the linker wrote them; counter 0: none */
	const char *provider, *name;
};

/* The link-time address of .stapsdt.base, by which prelinking can be noticed; 0: there is none. */
static __u64 base_now(struct elf_file *f)
{
	Elf64_Shdr shdr;
	unsigned i = 0;

	return elf_file_section_named(f, ".stapsdt.base", &i, &shdr) ? 0 : shdr.sh_addr;
}

static bool parse_mark(const __u8 *desc, size_t size, struct mark *ret)
{
	const char *text = (const char *)desc + 3 * sizeof(__u64), *end = (const char *)desc + size;
	const char *name;

	if (size < 3 * sizeof(__u64) + 3)
		return false;
	memcpy(&ret->address, desc, sizeof(__u64));
	memcpy(&ret->base, desc + 8, sizeof(__u64));
	memcpy(&ret->counter, desc + 16, sizeof(__u64));
	name = memchr(text, '\0', (size_t)(end - text));
	if (!name || !memchr(name + 1, '\0', (size_t)(end - name - 1)))
		return false;
	ret->provider = text;
	ret->name = name + 1;
	return true;
}

static bool is_wanted(const struct mark *m, const char *text)
{
	size_t len = strlen(m->provider);

	return !strcmp(text, m->name) || (!strncmp(text, m->provider, len) && text[len] == ':' &&
					  !strcmp(text + len + 1, m->name));
}

/* Each name once. */
static void tell(struct parser_probes *ret, const struct mark *m)
{
	size_t len = strlen(ret->there), n;
	char text[PROBE_NAME_MAX], both[PROBE_NAME_MAX];
	const char *at = ret->there;

	if (snprintf(both, sizeof(both), "%s:%s", m->provider, m->name) >= (int)sizeof(both))
		return;
	printable_into(text, sizeof(text), both);
	n = strlen(text);
	while ((at = strstr(at, text))) {
		if (!at[n] || at[n] == ',')
			return;
		at += n;
	}
	if (len + n + 3 < sizeof(ret->there))
		snprintf(ret->there + len, sizeof(ret->there) - len, "%s%s", len ? ", " : "", text);
}

/*
 * A note may name any address. Within an instruction a breakpoint would make another one of it in every process that maps the
 * file; where sys/sdt.h puts marks, a nop is.
 */
static bool is_nop(struct elf_file *f, __u64 offset)
{
	static const struct {
		__u16 machine;
		__u8 len, code[4];
	} nops[] = {
		{ EM_X86_64, 1, { 0x90 } },
		{ EM_X86_64, 2, { 0x66, 0x90 } },
		{ EM_X86_64, 2, { 0x0f, 0x1f } },
		{ EM_X86_64, 3, { 0x66, 0x0f, 0x1f } },
		{ EM_AARCH64, 4, { 0x1f, 0x20, 0x03, 0xd5 } },
	};
	__u8 code[4];

	if (elf_file_read(f, offset, code, sizeof(code)))
		return false;
	for (size_t i = 0; i < sizeof(nops) / sizeof(nops[0]); i++)
		if (nops[i].machine == f->ehdr.e_machine &&
		    !memcmp(code, nops[i].code, nops[i].len))
			return true;
	return false;
}

/* The kernel writes the counter: 16 bits of the program's data. */
static bool is_counter(const struct elf_file *f, __u64 vaddr, __u64 *ret_offset)
{
	const Elf64_Phdr *p = elf_file_segment(f, vaddr);
	__u64 have;

	return p && p->p_flags & PF_W && !(p->p_flags & PF_X) && !(vaddr & 1) &&
	       elf_file_offset(f, vaddr, ret_offset, &have) && have >= sizeof(__u16);
}

static int take_mark(struct elf_file *f, const struct mark *m, __u64 base, const char *text,
		     struct parser_probes *ret)
{
	__u64 moved = base && m->base ? base - m->base : 0;
	struct parser_probe p = { 0 };

	tell(ret, m);
	if (!is_wanted(m, text))
		return 0;
	if (ret->cnt == PROBE_PLACES_MAX)
		return -E2BIG;
	if (!is_code(f, m->address + moved, &p.offset) || !is_nop(f, p.offset))
		return -EILSEQ;
	if (m->counter && !is_counter(f, m->counter + moved, &p.counter_offset))
		return -EFAULT;
	for (__u32 i = 0; i < ret->cnt; i++)
		if (ret->list[i].offset == p.offset)
			return 0;
	ret->list[ret->cnt++] = p;
	return 0;
}

static __u64 aligned(__u64 size)
{
	return (size + 3) & ~3ULL;
}

static int take_notes(struct elf_file *f, const Elf64_Shdr *s, __u64 base, const char *text,
		      struct parser_probes *ret)
{
	__u64 at = 0;
	int r = 0;

	for (unsigned i = 0; !r && at + sizeof(Elf64_Nhdr) <= s->sh_size; i++) {
		__u8 body[NOTE_MAX];
		Elf64_Nhdr head;
		__u64 name_size, size;
		struct mark m;

		if (i == NOTES_MAX)
			return -E2BIG;
		r = elf_file_read(f, s->sh_offset + at, &head, sizeof(head));
		if (r)
			return r;
		name_size = aligned(head.n_namesz);
		size = name_size + aligned(head.n_descsz);
		at += sizeof(head);
		if (size > s->sh_size - at)
			return -ENODATA;
		if (head.n_type == SDT_NOTE_TYPE && head.n_namesz == sizeof("stapsdt") &&
		    size <= sizeof(body)) {
			r = elf_file_read(f, s->sh_offset + at, body, size);
			if (!r && !memcmp(body, "stapsdt", sizeof("stapsdt")) &&
			    parse_mark(body + name_size, head.n_descsz, &m))
				r = take_mark(f, &m, base, text, ret);
		}
		at += size;
	}
	return r;
}

static int find_marks(struct elf_file *f, const char *text, struct parser_probes *ret)
{
	const __u64 base = base_now(f);
	Elf64_Shdr shdr;
	unsigned i = 0;
	int r;

	while (!(r = elf_file_section_named(f, ".note.stapsdt", &i, &shdr))) {
		if (shdr.sh_type == SHT_NOTE)
			r = take_notes(f, &shdr, base, text, ret);
		if (r)
			return r;
	}
	return r == -ENOENT ? 0 : r;
}

int probe_places(int fd, enum probe_kind kind, const char *name, struct parser_probes *ret)
{
	struct elf_file f;
	int r = elf_file_init(&f, fd);

	memset(ret, 0, sizeof(*ret));
	if (r)
		return r;
	return kind == PROBE_MARK ? find_marks(&f, name, ret) : find_function(&f, name, ret);
}
