/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/elf/elf_symbol.h"

#include <errno.h>
#include <string.h>

/* Entries of the dynamic segment to look at; linkers make about 40. */
#define DYNAMIC_MAX 512
/* A name can be the tail of others: places in a string table to try. */
#define NAME_PLACES_MAX 64
/* In DT_VERSYM: no program is linked with this version any more (VERSYM_HIDDEN of glibc's elf/link.h). */
#define VERSION_HIDDEN 0x8000

struct dynamic {
	__u64 symtab, strtab, strsz, gnu_hash, hash, versym; /* link-time addresses, 0 none */
	__u64 soname; /* offset in strtab, 0 none */
	bool functions; /* look for functions; otherwise for objects */
};

static bool is_definition(const Elf64_Sym *sym, bool functions)
{
	unsigned type = ELF64_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || sym->st_value == 0)
		return false;
	return functions ? type == STT_FUNC || type == STT_GNU_IFUNC :
			   type == STT_OBJECT || type == STT_NOTYPE;
}

/* What is at an IFUNC's address chooses the function; it is not the function. */
static int check_type(const Elf64_Sym *sym)
{
	return ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC ? -EOPNOTSUPP : 0;
}

static void dynamic_note(struct dynamic *d, const Elf64_Dyn *dyn)
{
	switch (dyn->d_tag) {
	case DT_SYMTAB:
		d->symtab = dyn->d_un.d_ptr;
		break;
	case DT_STRTAB:
		d->strtab = dyn->d_un.d_ptr;
		break;
	case DT_STRSZ:
		d->strsz = dyn->d_un.d_val;
		break;
	case DT_SONAME:
		d->soname = dyn->d_un.d_val;
		break;
	case DT_GNU_HASH:
		d->gnu_hash = dyn->d_un.d_ptr;
		break;
	case DT_HASH:
		d->hash = dyn->d_un.d_ptr;
		break;
	case DT_VERSYM:
		d->versym = dyn->d_un.d_ptr;
		break;
	}
}

static int dynamic_read(struct elf_file *f, struct dynamic *ret)
{
	Elf64_Dyn dyn[16];
	const Elf64_Phdr *p = NULL;
	__u64 cnt;

	for (unsigned i = 0; i < f->phdr_cnt; i++)
		if (f->phdrs[i].p_type == PT_DYNAMIC)
			p = &f->phdrs[i];
	if (!p)
		return -ENOENT;
	*ret = (struct dynamic){ 0 };
	cnt = p->p_filesz / sizeof(dyn[0]);
	for (__u64 i = 0; i < cnt && i < DYNAMIC_MAX; i += 16) {
		unsigned n = cnt - i < 16 ? (unsigned)(cnt - i) : 16;
		int r = elf_file_read(f, p->p_offset + i * sizeof(dyn[0]), dyn, n * sizeof(dyn[0]));

		if (r)
			return r;
		for (unsigned j = 0; j < n; j++) {
			if (dyn[j].d_tag == DT_NULL)
				return 0;
			dynamic_note(ret, &dyn[j]);
		}
	}
	return 0;
}

/* Reads symbol i and compares. Returns 0, -ENOENT if it is another one or an old version, -errno. */
static int dynamic_check(struct elf_file *f, const struct dynamic *d, __u64 i, const char *name,
			 Elf64_Sym *ret)
{
	__u64 off, have;
	__u16 version = 0;
	Elf64_Sym sym;
	int r;

	if (i > ~0U)
		return -ENODATA;
	r = elf_file_read_vaddr(f, d->symtab + i * sizeof(sym), &sym, sizeof(sym));
	if (r)
		return r;
	if (sym.st_name >= d->strsz || !elf_file_offset(f, d->strtab + sym.st_name, &off, &have))
		return -ENODATA;
	if (!is_definition(&sym, d->functions) || !elf_file_string_is(f, off, name))
		return -ENOENT;
	if (d->functions && d->versym) {
		r = elf_file_read_vaddr(f, d->versym + i * sizeof(version), &version,
					sizeof(version));
		if (r)
			return r;
	}
	if (version & VERSION_HIDDEN)
		return -ENOENT;
	*ret = sym;
	return check_type(&sym);
}

static __u32 gnu_hash(const char *name)
{
	__u32 h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

static int gnu_lookup(struct elf_file *f, const struct dynamic *d, const char *name, Elf64_Sym *ret)
{
	struct {
		__u32 bucket_cnt, first_symbol, bloom_cnt, bloom_shift;
	} head;
	__u32 h = gnu_hash(name), bucket, word;
	__u64 bloom, buckets, chain;
	int r = elf_file_read_vaddr(f, d->gnu_hash, &head, sizeof(head));

	if (r)
		return r;
	if (!head.bucket_cnt || !head.bloom_cnt || head.bloom_shift > 31)
		return -ENODATA;
	bloom = d->gnu_hash + sizeof(head);
	buckets = bloom + 8ULL * head.bloom_cnt;
	chain = buckets + 4ULL * head.bucket_cnt;
	r = elf_file_read_vaddr(f, bloom + 8ULL * (h / 64 % head.bloom_cnt), &bloom, sizeof(bloom));
	if (r)
		return r;
	if (!(bloom >> (h % 64) & 1) || !(bloom >> ((h >> head.bloom_shift) % 64) & 1))
		return -ENOENT;
	r = elf_file_read_vaddr(f, buckets + 4ULL * (h % head.bucket_cnt), &bucket, sizeof(bucket));
	if (r)
		return r;
	if (bucket < head.first_symbol)
		return -ENOENT;
	for (__u64 i = bucket;; i++) {
		r = elf_file_read_vaddr(f, chain + 4 * (i - head.first_symbol), &word,
					sizeof(word));
		if (r)
			return r;
		if ((word | 1) == (h | 1)) {
			r = dynamic_check(f, d, i, name, ret);
			if (r != -ENOENT)
				return r;
		}
		if (word & 1)
			return -ENOENT;
	}
}

/* The hash of the System V ABI. */
static __u32 sysv_hash(const char *name)
{
	__u32 h = 0, high;

	for (; *name; name++) {
		h = (h << 4) + (unsigned char)*name;
		high = h & 0xf0000000;
		h ^= high >> 24;
		h &= ~high;
	}
	return h;
}

static int sysv_lookup(struct elf_file *f, const struct dynamic *d, const char *name,
		       Elf64_Sym *ret)
{
	__u32 head[2], i; /* buckets, chains */
	int r = elf_file_read_vaddr(f, d->hash, head, sizeof(head));

	if (r)
		return r;
	if (!head[0])
		return -ENODATA;
	r = elf_file_read_vaddr(f, d->hash + 8 + 4ULL * (sysv_hash(name) % head[0]), &i, sizeof(i));
	for (__u32 steps = 0; !r && i != STN_UNDEF; steps++) {
		if (i >= head[1] || steps > head[1])
			return -ENODATA;
		r = dynamic_check(f, d, i, name, ret);
		if (r != -ENOENT)
			return r;
		r = elf_file_read_vaddr(f, d->hash + 8 + 4 * ((__u64)head[0] + i), &i, sizeof(i));
	}
	return r ? r : -ENOENT;
}

static int dynamic_lookup(struct elf_file *f, const char *name, bool functions, Elf64_Sym *ret)
{
	struct dynamic d;
	int r = dynamic_read(f, &d);

	if (r)
		return r;
	if (!d.symtab || !d.strtab)
		return -ENOENT;
	d.functions = functions;
	if (d.gnu_hash)
		return gnu_lookup(f, &d, name, ret);
	return d.hash ? sysv_lookup(f, &d, name, ret) : -ENOENT;
}

int elf_symbol_dynamic(struct elf_file *f, const char *name, Elf64_Sym *ret)
{
	return dynamic_lookup(f, name, false, ret);
}

int elf_symbol_function(struct elf_file *f, const char *name, Elf64_Sym *ret)
{
	return dynamic_lookup(f, name, true, ret);
}

/*
 * Offsets in a string table at which name occurs, including as the tail of a longer one. Returns
 * their number, or -errno.
 */
static int name_places(struct elf_file *f, const Elf64_Shdr *strtab, const char *name, __u64 *ret)
{
	size_t len = strlen(name) + 1, keep = 0;
	char buf[16384];
	int cnt = 0;

	for (__u64 pos = 0; pos < strtab->sh_size;) {
		__u64 left = strtab->sh_size - pos;
		size_t n = left < sizeof(buf) - keep ? (size_t)left : sizeof(buf) - keep;
		char *hit = buf, *end = buf + keep + n;
		int r = elf_file_read(f, strtab->sh_offset + pos, buf + keep, n);

		if (r)
			return r;
		for (; (hit = memmem(hit, (size_t)(end - hit), name, len)); hit++) {
			ret[cnt++] = pos - keep + (__u64)(hit - buf);
			if (cnt == NAME_PLACES_MAX)
				return cnt;
		}
		pos += n;
		/* A name may span two reads. */
		keep = keep + n < len - 1 ? keep + n : len - 1;
		memmove(buf, end - keep, keep);
	}
	return cnt;
}

/* Adds to the cnt that *ret has, up to max. Returns how many it has then, or -errno. */
static int table_lookup(struct elf_file *f, const Elf64_Shdr *symtab, const char *name,
			bool functions, Elf64_Sym *ret, int cnt, int max)
{
	__u64 places[NAME_PLACES_MAX], total = symtab->sh_size / sizeof(Elf64_Sym);
	Elf64_Sym syms[512];
	Elf64_Shdr strtab;
	int place_cnt, r = elf_file_section(f, symtab->sh_link, &strtab);

	if (r)
		return r;
	if (strtab.sh_type != SHT_STRTAB || symtab->sh_entsize != sizeof(Elf64_Sym))
		return cnt;
	place_cnt = name_places(f, &strtab, name, places);
	if (place_cnt <= 0)
		return place_cnt ? place_cnt : cnt;
	for (__u64 i = 0; i < total; i += 512) {
		unsigned n = total - i < 512 ? (unsigned)(total - i) : 512;

		r = elf_file_read(f, symtab->sh_offset + i * sizeof(syms[0]), syms,
				  n * sizeof(syms[0]));
		if (r)
			return r;
		for (unsigned j = 0; j < n; j++)
			for (int k = 0; k < place_cnt; k++)
				if (syms[j].st_name == places[k] &&
				    is_definition(&syms[j], functions)) {
					r = check_type(&syms[j]);
					if (r)
						return r;
					ret[cnt++] = syms[j];
					if (cnt == max)
						return cnt;
				}
	}
	return cnt;
}

static int tables_lookup(struct elf_file *f, const char *name, bool functions, Elf64_Sym *ret,
			 int max)
{
	Elf64_Shdr shdr;
	int cnt = 0;

	for (unsigned i = 0; i < f->ehdr.e_shnum && cnt < max; i++) {
		int r = elf_file_section(f, i, &shdr);

		if (r)
			return r;
		if (shdr.sh_type == SHT_SYMTAB)
			cnt = table_lookup(f, &shdr, name, functions, ret, cnt, max);
		if (cnt < 0)
			return cnt;
	}
	return cnt ? cnt : -ENOENT;
}

int elf_symbol_tables(struct elf_file *f, const char *name, Elf64_Sym *ret)
{
	int r = tables_lookup(f, name, false, ret, 1);

	return r < 0 ? r : 0;
}

int elf_symbol_function_in_tables(struct elf_file *f, const char *name, Elf64_Sym *ret)
{
	int r = tables_lookup(f, name, true, ret, 1);

	return r < 0 ? r : 0;
}

int elf_symbol_functions_in_tables(struct elf_file *f, const char *name, Elf64_Sym *ret, int max)
{
	return tables_lookup(f, name, true, ret, max);
}

int elf_symbol_soname(struct elf_file *f, char *ret, size_t size)
{
	struct dynamic d;
	int r = dynamic_read(f, &d);

	if (r)
		return r;
	if (!d.soname || !d.strtab || d.soname >= d.strsz || size > d.strsz - d.soname)
		return -ENOENT;
	r = elf_file_read_vaddr(f, d.strtab + d.soname, ret, size - 1);
	ret[size - 1] = '\0';
	return r;
}
