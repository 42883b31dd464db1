/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dso_reader.c - a sorted table of functions from the symbols, with what DWARF says about them;
 * libdw finds lines.
 */
#include "capture/dso/dso_reader.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/dso/dso.h"
#include "capture/dso/dso_nop.h"
#include "process/proc/open_file.h"
#include "profile/marks.h"
#include "base/data/cleanup.h"
#include "base/data/compare.h"
#include "base/data/search.h"

/* A DSO takes about 400 bytes a function, and 8 MB when it is full. */
#define MAX_FUNCTIONS (4U << 20)
#define MAX_FILE (64U << 20)

struct function {
	__u64 start, end;
	const char *symbol, *name; /* name: from DWARF, or NULL */
	int first_line;
	Dwarf_Off unit; /* of its unit's DIE; 0: none */
};

struct dso_reader {
	int fd;
	Elf *elf;
	Dwarf *dwarf;
	struct function *functions;
	size_t cnt;
	char *notes;
	const __u8 *text; /* owned by libelf; NULL: none */
	size_t text_size;
};

void dso_reader__free(struct dso_reader *r)
{
	if (!r)
		return;
	if (r->dwarf)
		dwarf_end(r->dwarf);
	elf_end(r->elf);
	if (r->fd >= 0)
		close(r->fd);
	free(r->functions);
	free(r->notes);
	free(r);
}

/* ---- opening ---------------------------------------------------------------------------------- */

static Elf_Scn *find_section(Elf *elf, const char *name, __u32 type, GElf_Shdr *ret)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *text;

		if (!gelf_getshdr(scn, ret) || (type && ret->sh_type != type))
			continue;
		text = elf_strptr(elf, names, ret->sh_name);
		if (text && (!name || !strcmp(text, name)))
			return scn;
	}
	return NULL;
}

/*
 * krait writes neither compressed sections, which may unpack to a thousand times their size, nor
 * references to another file, which libdw would open: such a file is not krait's.
 */
static bool has_foreign_section(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return true;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *text;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_flags & SHF_COMPRESSED)
			return true;
		text = elf_strptr(elf, names, shdr.sh_name);
		if (!text || !strncmp(text, ".zdebug", 7) || !strncmp(text, ".gnu_debug", 10) ||
		    !strcmp(text, ".debug_sup") || strstr(text, ".dwo"))
			return true;
	}
	return false;
}

/* Never a device or a FIFO, which act when they are opened: a capture may name anything. */
static int open_small(const char *path)
{
	cleanup_close int fd = open_file_named(path);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || st.st_size > MAX_FILE))
		return -ENOEXEC;
	return take_fd(&fd);
}

static int read_notes(struct dso_reader *r)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = find_section(r->elf, DSO_NOTES_SECTION, SHT_PROGBITS, &shdr);
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;

	if (!data)
		return -ENOEXEC;
	r->notes = data->d_size ? strndup(data->d_buf, data->d_size) : strdup("");
	return r->notes ? 0 : -ENOMEM;
}

/* Without it, no opcodes are known. */
static void read_text(struct dso_reader *r)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = find_section(r->elf, ".text", SHT_PROGBITS, &shdr);
	Elf_Data *data = scn && shdr.sh_addr == DSO_TEXT_OFFSET ? elf_rawdata(scn, NULL) : NULL;

	if (!data || !data->d_buf)
		return;
	r->text = data->d_buf;
	r->text_size = data->d_size;
}

static int check_build_id(struct dso_reader *r, const __u8 *want, unsigned size)
{
	const void *id = NULL;
	ssize_t n = dwelf_elf_gnu_build_id(r->elf, &id);

	if (!want || !size)
		return 0;
	return n == (ssize_t)size && !memcmp(id, want, size) ? 0 : -ESTALE;
}

static int compare_functions(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return compare_numbers(x->start, y->start);
}

static int read_symbols(struct dso_reader *r)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = find_section(r->elf, NULL, SHT_SYMTAB, &shdr);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	size_t cnt;

	if (!data || !shdr.sh_entsize)
		return -ENOEXEC;
	cnt = data->d_size / sizeof(Elf64_Sym);
	if (cnt > MAX_FUNCTIONS)
		return -EFBIG;
	r->functions = calloc(cnt + 1, sizeof(*r->functions));
	if (!r->functions)
		return -ENOMEM;
	for (size_t i = 1; i < cnt; i++) {
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_size > DSO_STRIDE)
			continue;
		name = elf_strptr(r->elf, shdr.sh_link, sym.st_name);
		if (name)
			r->functions[r->cnt++] = (struct function){
				.start = sym.st_value,
				.end = sym.st_value + sym.st_size,
				.symbol = name,
			};
	}
	qsort(r->functions, r->cnt, sizeof(*r->functions), compare_functions);
	return 0;
}

static struct function *find_function(const struct dso_reader *r, __u64 offset)
{
	size_t cnt = sorted_below(r->cnt, i, r->functions[i].start <= offset);

	return cnt && offset < r->functions[cnt - 1].end ? &r->functions[cnt - 1] : NULL;
}

static void read_die(struct dso_reader *r, Dwarf_Die *die, Dwarf_Off unit)
{
	Dwarf_Addr start;
	struct function *f;
	int line = 0;

	if (dwarf_tag(die) != DW_TAG_subprogram || dwarf_lowpc(die, &start))
		return;
	f = find_function(r, start);
	if (!f || f->start != start)
		return;
	if (dwarf_decl_line(die, &line))
		line = 0;
	f->name = dwarf_diename(die);
	f->first_line = line;
	f->unit = unit;
}

/* Without (good) DWARF, a file still has the names of its symbols. */
static void read_dwarf(struct dso_reader *r)
{
	Dwarf_Off next, offset = 0;
	size_t header;

	r->dwarf = dwarf_begin_elf(r->elf, DWARF_C_READ, NULL);
	while (r->dwarf && !dwarf_nextcu(r->dwarf, offset, &next, &header, NULL, NULL, NULL)) {
		Dwarf_Die unit, die;

		if (dwarf_offdie(r->dwarf, offset + header, &unit) && !dwarf_child(&unit, &die)) {
			do
				read_die(r, &die, offset + header);
			while (!dwarf_siblingof(&die, &die));
		}
		if (next <= offset)
			break;
		offset = next;
	}
}

int dso_reader__open(struct dso_reader **ret, const char *path, const __u8 *build_id,
		     unsigned build_id_size)
{
	struct dso_reader *r = calloc(1, sizeof(*r));
	GElf_Ehdr ehdr;
	int err = 0;

	if (!r)
		return -ENOMEM;
	r->fd = open_small(path);
	if (r->fd < 0)
		err = r->fd;
	/* Never mapped: truncating the file would kill krait. */
	if (!err && elf_version(EV_CURRENT) != EV_NONE)
		r->elf = elf_begin(r->fd, ELF_C_READ, NULL);
	if (!err && (!r->elf || elf_kind(r->elf) != ELF_K_ELF || !gelf_getehdr(r->elf, &ehdr) ||
		     ehdr.e_ident[EI_CLASS] != ELFCLASS64 || has_foreign_section(r->elf)))
		err = -ENOEXEC;
	if (!err)
		err = check_build_id(r, build_id, build_id_size);
	if (!err)
		err = read_notes(r);
	if (!err)
		err = read_symbols(r);
	if (err) {
		dso_reader__free(r);
		return err;
	}
	read_text(r);
	read_dwarf(r);
	*ret = r;
	return 0;
}

/* ---- looking up ------------------------------------------------------------------------------- */

/* *ret_file: the unit's, or untouched. */
static void find_line(struct dso_reader *r, const struct function *f, __u64 offset,
		      struct profile_frame *ret, const char **ret_file)
{
	Dwarf_Die unit;
	Dwarf_Line *line;
	const char *file;
	unsigned end_column;
	int value;

	if (!f->unit || !dwarf_offdie(r->dwarf, f->unit, &unit))
		return;
	file = dwarf_diename(&unit);
	/* Nobody else's comp_dir is needed: the lines are in the notes, too. */
	if (file && dwarf_hasattr(&unit, DW_AT_comp_dir) &&
	    !strncmp(file, DSO_KEPT_PREFIX, strlen(DSO_KEPT_PREFIX)))
		file += strlen(DSO_KEPT_PREFIX);
	if (file)
		*ret_file = file;
	line = dwarf_getsrc_die(&unit, offset);
	if (!line)
		return;
	if (!dwarf_lineno(line, &value) && value > 0)
		ret->line = value;
	if (!dwarf_linecol(line, &value) && value > 0 && ret->line > 0)
		ret->column = value - 1;
	if (ret->column >= 0 && !dwarf_lineisa(line, &end_column) && end_column > 0 &&
	    end_column <= INT_MAX)
		ret->end_column = (int)end_column - 1;
}

/* The two slots after a code object's units belong to no unit. */
static int unit_of(const struct function *f, __u64 offset)
{
	__u64 slots = (f->end - f->start) / DSO_SLOT, slot = (offset - f->start) / DSO_SLOT;

	return slot + 2 < slots ? (int)slot : -1;
}

/* The name of a function of Python, or the text of a mark. */
static const char *name_of(const struct function *f, bool mark)
{
	size_t prefix = strlen(DSO_PYTHON_PREFIX);

	if (mark)
		return f->symbol;
	if (!strcmp(f->symbol + prefix, NAME_EMPTY))
		return "";
	return f->name ? f->name : f->symbol + prefix;
}

bool dso_reader__find(struct dso_reader *r, struct dict *dict, __u64 offset,
		      struct profile_frame *ret)
{
	const struct function *f = find_function(r, offset);
	const char *file = "";
	bool mark;

	if (!f)
		return false;
	mark = strncmp(f->symbol, DSO_PYTHON_PREFIX, strlen(DSO_PYTHON_PREFIX)) != 0;
	*ret = (struct profile_frame){
		.kind = mark ? FRAME_MARK : FRAME_PYTHON,
		.first_line = f->first_line > 0 ? f->first_line : -1,
		.line = -1,
		.column = -1,
		.end_column = -1,
		.unit = unit_of(f, offset),
	};
	find_line(r, f, offset, ret, &file);
	if (dict) {
		ret->name = dict__string(dict, name_of(f, mark));
		ret->file = dict__string(dict, file);
	}
	return true;
}

bool dso_reader__extent(const struct dso_reader *r, __u64 offset, struct dso_extent *ret)
{
	const struct function *f = find_function(r, offset);

	if (f)
		*ret = (struct dso_extent){ f->start, f->end };
	return f;
}

__u8 dso_reader__opcode(const struct dso_reader *r, __u64 offset)
{
	const __u64 at = offset - DSO_TEXT_OFFSET;

	return offset >= DSO_TEXT_OFFSET && r->text_size >= DSO_SLOT &&
			       at <= r->text_size - DSO_SLOT ?
		       dso_nop_opcode(r->text + at) :
		       0;
}

bool dso_reader__note(const struct dso_reader *r, const char *name, __u64 *ret)
{
	size_t len = strlen(name);
	const char *line = r->notes;

	while (line && *line) {
		if (!strncmp(line, name, len) && line[len] == ' ') {
			*ret = strtoull(line + len + 1, NULL, 10);
			return true;
		}
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return false;
}

const char *dso_reader__notes(const struct dso_reader *r)
{
	return r->notes ? r->notes : "";
}

int dso_reader__fd(const struct dso_reader *r)
{
	return r->fd;
}
