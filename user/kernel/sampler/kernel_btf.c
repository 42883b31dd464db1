/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/sampler/kernel_btf.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/data/bytes.h"
#include "base/data/cleanup.h"

/* Debian's 6.1 has 5 MB, a kernel with everything built in 12 MB. */
#define SIZE_MAX_BTF (256UL << 20)
/* A bit for each value of a name's hash: on a collision both names are taken. */
#define HASHES (1U << 18)
/* Separates the flavor of a type's name: "inode___before_6_6" refers to "inode". */
#define FLAVOR "___"
/* linux/btf.h until Linux 7.0; later headers have more fields, which kernels fill, or do not. */
#define HEADER_LEN (offsetof(struct btf_header, str_len) + sizeof(__u32))

struct excerpt {
	const char *types; /* of the whole */
	__u32 type_len;
	const char *strings;
	__u32 string_len;
	__u32 cnt; /* types in the whole; ids begin with 1 */
	__u32 *offsets; /* by id: offset in types */
	__u32 *taken; /* by id: its id in the excerpt; 0: not included */
	__u32 *order; /* ids of the included ones */
	__u32 taken_cnt;
	const char *func; /* a function to find, and its id in the whole; 0: there is none */
	__u32 func_id;
	__u8 wanted[HASHES / 8];
	struct bytes new_types, new_strings;
};

static void excerpt_free(struct excerpt *e)
{
	free(e->offsets);
	free(e->taken);
	free(e->order);
	bytes_free(&e->new_types);
	bytes_free(&e->new_strings);
}
#define cleanup_excerpt __attribute__((cleanup(excerpt_free)))

/* ---- names ------------------------------------------------------------------------------------- */

/* FNV-1a of the name without its flavor. */
static __u32 hash_of(const char *name)
{
	__u32 hash = 2166136261U;

	for (; *name && (*name != '_' || strncmp(name, FLAVOR, strlen(FLAVOR)) != 0); name++)
		hash = (hash ^ (__u8)*name) * 16777619U;
	return (hash ^ hash >> 18) % HASHES;
}

static bool can_be_asked_for(const struct btf_type *t)
{
	switch (btf_kind(t)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_INT:
	case BTF_KIND_FLOAT:
	case BTF_KIND_FWD:
		return t->name_off;
	default:
		return false;
	}
}

static void want_names(struct excerpt *e, const struct btf *local)
{
	for (__u32 id = 1; id < btf__type_cnt(local); id++) {
		const struct btf_type *t = btf__type_by_id(local, id);
		__u32 hash;

		if (!can_be_asked_for(t))
			continue;
		hash = hash_of(btf__name_by_offset(local, t->name_off));
		e->wanted[hash / 8] |= 1U << hash % 8;
	}
}

static bool is_wanted(const struct excerpt *e, const struct btf_type *t)
{
	__u32 hash;

	if (!can_be_asked_for(t))
		return false;
	hash = hash_of(e->strings + t->name_off);
	return e->wanted[hash / 8] >> hash % 8 & 1;
}

/* ---- the whole --------------------------------------------------------------------------------- */

/* Bytes after a struct btf_type; -1: unknown kind. linux/btf.h; Linux 6.18 has no others. */
static long extra_size(const struct btf_type *t)
{
	switch (btf_kind(t)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(__u32);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return (long)(btf_vlen(t) * sizeof(struct btf_member));
	case BTF_KIND_ENUM:
		return (long)(btf_vlen(t) * sizeof(struct btf_enum));
	case BTF_KIND_ENUM64:
		return (long)(btf_vlen(t) * 3 * sizeof(__u32));
	case BTF_KIND_FUNC_PROTO:
		return (long)(btf_vlen(t) * sizeof(struct btf_param));
	case BTF_KIND_DATASEC:
		return (long)(btf_vlen(t) * sizeof(struct btf_var_secinfo));
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	default:
		return -1;
	}
}

static const struct btf_type *type_at(const struct excerpt *e, __u32 id)
{
	return (const struct btf_type *)(e->types + e->offsets[id]);
}

static int open_whole(struct excerpt *e, const char *whole, size_t size)
{
	const struct btf_header *h = (const void *)whole;

	if (size < HEADER_LEN || size > SIZE_MAX_BTF || h->magic != BTF_MAGIC ||
	    h->hdr_len < HEADER_LEN || h->hdr_len > size || h->type_off % sizeof(__u32) ||
	    (size_t)h->hdr_len + h->type_off + h->type_len > size || !h->str_len ||
	    (size_t)h->hdr_len + h->str_off + h->str_len > size)
		return -EINVAL;
	e->types = whole + h->hdr_len + h->type_off;
	e->type_len = h->type_len;
	e->strings = whole + h->hdr_len + h->str_off;
	e->string_len = h->str_len;
	return e->strings[e->string_len - 1] ? -EINVAL : 0;
}

static void take(struct excerpt *e, __u32 id)
{
	if (!id || id > e->cnt || e->taken[id])
		return;
	e->order[e->taken_cnt++] = id;
	e->taken[id] = e->taken_cnt;
}

/* Numbers all types, and takes the wanted ones. */
static int index_types(struct excerpt *e)
{
	__u32 max = e->type_len / sizeof(struct btf_type) + 1, at = 0;

	e->offsets = malloc(max * sizeof(*e->offsets));
	e->taken = calloc(max, sizeof(*e->taken));
	e->order = malloc(max * sizeof(*e->order));
	if (!e->offsets || !e->taken || !e->order)
		return -ENOMEM;
	while (at < e->type_len) {
		const struct btf_type *t = (const void *)(e->types + at);
		long extra;

		if (e->type_len - at < sizeof(*t) || t->name_off >= e->string_len)
			return -EINVAL;
		extra = extra_size(t);
		if (extra < 0)
			return -EOPNOTSUPP;
		if (e->type_len - at - sizeof(*t) < (size_t)extra)
			return -EINVAL;
		e->offsets[++e->cnt] = at;
		if (btf_kind(t) == BTF_KIND_FUNC && !strcmp(e->strings + t->name_off, e->func))
			e->func_id = e->cnt;
		if (is_wanted(e, t))
			take(e, e->cnt);
		at += sizeof(*t) + (__u32)extra;
	}
	return 0;
}

/* Takes the types contained by value; the list grows meanwhile. */
static void take_parts(struct excerpt *e)
{
	for (__u32 i = 0; i < e->taken_cnt; i++) {
		const struct btf_type *t = type_at(e, e->order[i]);

		if (btf_is_composite(t)) {
			for (__u32 m = 0; m < btf_vlen(t); m++)
				take(e, btf_members(t)[m].type);
		} else if (btf_is_array(t)) {
			take(e, btf_array(t)->type);
			take(e, btf_array(t)->index_type);
		} else if (btf_is_mod(t) || btf_is_typedef(t)) {
			take(e, t->type);
		}
	}
}

/* ---- the excerpt ------------------------------------------------------------------------------- */

static __u32 new_id(const struct excerpt *e, __u32 id)
{
	return id <= e->cnt ? e->taken[id] : 0;
}

static __u32 new_name(struct excerpt *e, __u32 offset)
{
	size_t at = e->new_strings.len;

	if (!offset || offset >= e->string_len)
		return 0;
	bytes_text(&e->new_strings, e->strings + offset);
	return (__u32)at;
}

static void put_type(struct excerpt *e, const struct btf_type *t)
{
	struct btf_type head = *t;

	head.name_off = new_name(e, t->name_off);
	if (btf_is_mod(t) || btf_is_typedef(t))
		head.type = new_id(e, t->type);
	else if (btf_is_ptr(t) || btf_is_func_proto(t))
		head.type = 0;
	if (btf_is_func_proto(t))
		head.info = BTF_KIND_FUNC_PROTO << 24; /* without parameters */
	bytes_put(&e->new_types, &head, sizeof(head));
}

static void put_members(struct excerpt *e, const struct btf_type *t)
{
	for (__u32 i = 0; i < btf_vlen(t); i++) {
		struct btf_member m = btf_members(t)[i];

		m.name_off = new_name(e, m.name_off);
		m.type = new_id(e, m.type);
		bytes_put(&e->new_types, &m, sizeof(m));
	}
}

/* Enumerators of 4 and of 8 bytes both begin with their name. */
static void put_enumerators(struct excerpt *e, const struct btf_type *t)
{
	const __u32 *at = (const __u32 *)(t + 1);
	size_t words = (size_t)extra_size(t) / sizeof(*at) / (btf_vlen(t) ? btf_vlen(t) : 1);

	for (__u32 i = 0; i < btf_vlen(t); i++, at += words) {
		bytes_u32(&e->new_types, new_name(e, *at));
		bytes_put(&e->new_types, at + 1, (words - 1) * sizeof(*at));
	}
}

static void put(struct excerpt *e, const struct btf_type *t)
{
	put_type(e, t);
	if (btf_is_composite(t)) {
		put_members(e, t);
	} else if (btf_is_any_enum(t)) {
		put_enumerators(e, t);
	} else if (btf_is_array(t)) {
		struct btf_array a = *btf_array(t);

		a.type = new_id(e, a.type);
		a.index_type = new_id(e, a.index_type);
		bytes_put(&e->new_types, &a, sizeof(a));
	} else if (btf_is_int(t)) {
		bytes_put(&e->new_types, t + 1, sizeof(__u32));
	}
}

static int put_all(struct excerpt *e, struct bytes *ret)
{
	struct btf_header h = { .magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = HEADER_LEN };

	bytes_u8(&e->new_strings, 0); /* the empty name */
	for (__u32 i = 0; i < e->taken_cnt; i++)
		put(e, type_at(e, e->order[i]));
	h.type_len = h.str_off = (__u32)e->new_types.len;
	h.str_len = (__u32)e->new_strings.len;
	bytes_put(ret, &h, HEADER_LEN);
	bytes_put(ret, e->new_types.data, e->new_types.len);
	bytes_put(ret, e->new_strings.data, e->new_strings.len);
	return e->new_types.failed || e->new_strings.failed || ret->failed ? -ENOMEM : 0;
}

int kernel_btf_excerpt(const struct btf *local, const void *whole, size_t size, struct bytes *ret,
		       const char *func, __u32 *ret_func)
{
	cleanup_excerpt struct excerpt e = { .func = func };
	int err = open_whole(&e, whole, size);

	if (err)
		return err;
	want_names(&e, local);
	err = index_types(&e);
	if (err)
		return err;
	*ret_func = e.func_id;
	take_parts(&e);
	return put_all(&e, ret);
}

/* ---- files ------------------------------------------------------------------------------------- */

static int read_all(int fd, char *data, size_t size)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = read(fd, data + len, size - len);

		if (n <= 0)
			return n ? -errno : -EIO;
		len += (size_t)n;
	}
	return 0;
}

/* Private memory of that size with the file's content; NULL with errno. */
static void *map_file(int fd, size_t size)
{
	/* Works from Linux 6.16 on; a copy takes as long as all the rest of the work here. */
	void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	int err;

	if (data != MAP_FAILED)
		return data;
	data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		return NULL;
	err = read_all(fd, data, size);
	if (!err)
		return data;
	munmap(data, size);
	errno = -err;
	return NULL;
}

int kernel_btf_write(const struct btf *local, const char *path, int fd, const char *func,
		     __u32 *ret_func)
{
	cleanup_close int file = open(path, O_RDONLY | O_CLOEXEC);
	cleanup_bytes struct bytes b = { 0 };
	struct stat st;
	void *whole;
	int err;

	if (file < 0 || fstat(file, &st))
		return -errno;
	if (st.st_size <= 0 || (size_t)st.st_size > SIZE_MAX_BTF)
		return -EINVAL;
	whole = map_file(file, (size_t)st.st_size);
	if (!whole)
		return -errno;
	err = kernel_btf_excerpt(local, whole, (size_t)st.st_size, &b, func, ret_func);
	munmap(whole, (size_t)st.st_size);
	if (!err && write(fd, b.data, b.len) != (ssize_t)b.len)
		err = -ENOSPC;
	return err;
}
