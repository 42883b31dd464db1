/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/objects.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/dso_reader.h"
#include "capture/dso_store.h"
#include "capture/kernel_text.h"
#include "profile/idindex.h"
#include "symbol/kernel_symbols.h"
#include "symbol/native_files.h"
#include "util/cleanup.h"
#include "util/printable.h"

/* A process has some hundred; a hostile file may claim any number. */
#define MAX_MAPPINGS 65536
#define MAX_OBJECTS 65536

struct object {
	char *path;
	__u8 build_id[20];
	unsigned build_id_size;
	struct dso_reader *dso; /* if it is one of krait's */
	bool is_dso; /* by its name; dso may be missing */
	struct native_file *native; /* NULL where it is another file now, or gone */
	__u32 frame; /* that stands for all of it; 0 not made yet */
};

struct mapping {
	__u64 start, size, offset;
	__u32 object; /* index */
};

/* Answers given, by object and offset. */
struct answer {
	__u64 offset;
	__u32 object, frame;
};

struct objects {
	struct profile *profile;
	const char *capture_path;
	struct object *list;
	__u32 cnt, cap;
	struct answer *answers; /* [0] is unused */
	__u32 answer_cnt, answer_cap;
	struct idindex index;
	struct native_files *files;
	struct kernel_symbols *kernel; /* NULL: of another kernel */
	__u32 kernel_frame, unknown_frame;
	__u64 unresolved;
};

struct objects *objects__new(struct profile *p, const char *capture_path)
{
	struct objects *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->files = native_files__new();
	if (!o->files) {
		free(o);
		return NULL;
	}
	o->profile = p;
	o->capture_path = capture_path;
	return o;
}

void objects__free(struct objects *o)
{
	if (!o)
		return;
	for (__u32 i = 0; i < o->cnt; i++) {
		free(o->list[i].path);
		dso_reader__free(o->list[i].dso);
	}
	free(o->list);
	free(o->answers);
	idindex_free(&o->index);
	native_files__free(o->files);
	kernel_symbols__free(o->kernel);
	free(o);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "python-1a2b3c4d.so", as dso_store.c calls them. */
static bool looks_like_dso(const char *path)
{
	const char *name = base_name(path);

	return !strncmp(name, "python-", 7) && strspn(name + 7, "0123456789abcdef") == 8 &&
	       !strcmp(name + 15, ".so");
}

/* By its path, beside the capture wherever that is now, in the build-id cache. */
static void open_dso(struct objects *o, struct object *new)
{
	char path[PATH_MAX];

	if (!dso_reader__open(&new->dso, new->path, new->build_id, new->build_id_size))
		return;
	if (o->capture_path &&
	    snprintf(path, sizeof(path), "%s.krait/%s", o->capture_path, base_name(new->path)) <
		    (int)sizeof(path) &&
	    !dso_reader__open(&new->dso, path, new->build_id, new->build_id_size))
		return;
	if (!dso_store_cached_path(path, sizeof(path), new->build_id, new->build_id_size) &&
	    !dso_reader__open(&new->dso, path, new->build_id, new->build_id_size))
		return;
	new->dso = NULL;
}

/* Names are taken from the file only if it is the one that was recorded. */
static struct native_file *open_native(struct objects *o, const struct object *new)
{
	const char *const paths[] = { new->path };
	struct native_file *file;
	const __u8 *id;
	struct stat st;
	unsigned size;

	/* A capture may name anything, also what blocks or acts when it is opened. */
	if (new->path[0] != '/' || stat(new->path, &st) || !S_ISREG(st.st_mode))
		return NULL;
	file = native_files__get(o->files, new->path, new->path);
	if (!file)
		return NULL;
	if (native_file__is_closed(file))
		native_files__open(o->files, file, paths, 1);
	id = native_file__build_id(file, &size);
	if (!id ||
	    (new->build_id_size && (size != new->build_id_size || memcmp(id, new->build_id, size))))
		return NULL;
	return file;
}

static int find_object(struct objects *o, const struct perf_read *record, __u32 *ret)
{
	struct object *grown, *new;

	for (__u32 i = o->cnt; i-- > 0;) {
		const struct object *old = &o->list[i];

		if (!strcmp(old->path, record->text) &&
		    old->build_id_size == record->build_id_size &&
		    !memcmp(old->build_id, record->build_id, record->build_id_size)) {
			*ret = i;
			return 0;
		}
	}
	if (o->cnt == MAX_OBJECTS)
		return -E2BIG;
	if (o->cnt == o->cap) {
		grown = reallocarray(o->list, o->cap ? o->cap * 2 : 64, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		o->list = grown;
		o->cap = o->cap ? o->cap * 2 : 64;
	}
	new = &o->list[o->cnt];
	*new = (struct object){ .path = strdup(record->text),
				.build_id_size = record->build_id_size,
				.is_dso = looks_like_dso(record->text) };
	if (!new->path)
		return -ENOMEM;
	memcpy(new->build_id, record->build_id, sizeof(new->build_id));
	if (new->is_dso)
		open_dso(o, new);
	else
		new->native = open_native(o, new);
	*ret = o->cnt++;
	return 0;
}

/* ---- mappings --------------------------------------------------------------------------------- */

void mappings_free(struct mappings *m)
{
	free(m->list);
	*m = (struct mappings){ 0 };
}

int mappings_copy(struct mappings *to, const struct mappings *from)
{
	struct mapping *list = calloc(from->cnt + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	if (from->cnt)
		memcpy(list, from->list, from->cnt * sizeof(*list));
	free(to->list);
	*to = (struct mappings){ list, from->cnt, from->cnt + 1 };
	return 0;
}

/* Index of the first mapping that ends behind address. */
static unsigned first_behind(const struct mappings *m, __u64 address)
{
	unsigned low = 0, high = m->cnt;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		const struct mapping *at = &m->list[middle];

		if (at->start + at->size <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int mappings_add(struct mappings *m, struct objects *o, const struct perf_read *record)
{
	struct mapping new = { record->start, record->size, record->offset, 0 };
	unsigned at, end;
	struct mapping *grown;
	int err;

	if (!new.size || new.size > ~0ULL - new.start)
		return -EINVAL;
	err = find_object(o, record, &new.object);
	if (err)
		return err;
	at = end = first_behind(m, new.start);
	while (end < m->cnt && m->list[end].start < new.start + new.size)
		end++;
	if (m->cnt == MAX_MAPPINGS && at == end)
		return -E2BIG;
	if (m->cnt + 1 > m->cap) {
		grown = reallocarray(m->list, m->cap ? m->cap * 2 : 16, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		m->list = grown;
		m->cap = m->cap ? m->cap * 2 : 16;
	}
	memmove(&m->list[at + 1], &m->list[end], (m->cnt - end) * sizeof(*m->list));
	m->list[at] = new;
	m->cnt = m->cnt - (end - at) + 1;
	return 0;
}

/* ---- frames ----------------------------------------------------------------------------------- */

static __u32 mark(struct objects *o, const char *text)
{
	const struct profile_frame frame = {
		.kind = FRAME_MARK,
		.name = profile__string(o->profile, text),
		.first_line = -1,
		.line = -1,
		.end_line = -1,
		.column = -1,
		.end_column = -1,
		.unit = -1,
	};

	return profile__frame(o->profile, &frame);
}

/* All addresses of an object whose symbols are not known here are the same frame. */
static __u32 object_frame(struct objects *o, struct object *object)
{
	cleanup_free char *name = printable(base_name(object->path));
	char text[300];

	if (object->frame || !name)
		return object->frame;
	if (name[0] == '[')
		snprintf(text, sizeof(text), "%s", name);
	else
		snprintf(text, sizeof(text), "[%s]", *name ? name : "unknown");
	object->frame = mark(o, text);
	return object->frame;
}

static __u32 native_frame(struct objects *o, enum frame_kind kind, const char *name,
			  const char *file)
{
	const struct profile_frame frame = {
		.kind = kind,
		.name = profile__string(o->profile, name),
		.file = profile__string(o->profile, file),
		.first_line = -1,
		.line = -1,
		.end_line = -1,
		.column = -1,
		.end_column = -1,
		.unit = -1,
	};

	return profile__frame(o->profile, &frame);
}

void objects__set_kernel(struct objects *o, __u64 text_start)
{
	__u64 start, size;

	if (!o->kernel && !kernel_text_find(&start, &size) && start == text_start)
		o->kernel = kernel_symbols__new("/proc/kallsyms");
}

static __u32 kernel_frame(struct objects *o, __u64 address)
{
	struct kernel_symbol *s = o->kernel ? kernel_symbols__find(o->kernel, address) : NULL;

	char module[128] = "[kernel.kallsyms]";

	if (s && *s->module)
		snprintf(module, sizeof(module), "[%s]", s->module);
	if (s && !s->tag)
		s->tag = native_frame(o, FRAME_KERNEL, s->name, module);
	if (s)
		return s->tag;
	if (!o->kernel_frame)
		o->kernel_frame = mark(o, "[kernel]");
	return o->kernel_frame;
}

static __u32 resolve(struct objects *o, struct object *object, __u64 offset)
{
	struct profile_frame frame = { .end_line = -1, .end_column = -1, .unit = -1 };
	struct dso_place_info place;
	char text[64];

	if (object->native) {
		struct native_symbol *s = native_files__find(o->files, object->native, offset);

		if (s && !s->tag)
			s->tag = native_frame(o, FRAME_NATIVE, s->name, object->path);
		if (s)
			return s->tag;
	}
	if (!object->is_dso)
		return object_frame(o, object);
	if (!object->dso || !dso_reader__find(object->dso, offset, &place)) {
		/* Without names, places can still be told apart. */
		o->unresolved++;
		snprintf(text, sizeof(text), "[python 0x%llx]", (unsigned long long)offset);
		return mark(o, text);
	}
	frame.kind = place.mark ? FRAME_MARK : FRAME_PYTHON;
	frame.name = profile__string(o->profile, place.name);
	frame.file = profile__string(o->profile, place.file);
	frame.first_line = place.first_line;
	frame.line = place.line;
	frame.column = place.column;
	return profile__frame(o->profile, &frame);
}

static int reserve_answer(struct objects *o)
{
	__u32 cap = o->answer_cap ? o->answer_cap * 2 : 1024;
	struct answer *grown;

	if (o->answer_cnt + 1 >= o->answer_cap) {
		grown = reallocarray(o->answers, cap, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		o->answers = grown;
		o->answer_cap = cap;
	}
	return idindex_reserve(&o->index);
}

static __u32 answer(struct objects *o, __u32 object, __u64 offset)
{
	__u32 hash = idindex_hash_pair(object + (__u32)(offset >> 32), (__u32)offset), frame;
	const struct idindex_slot *slot;

	idindex_for_each(&o->index, hash, slot)
	{
		const struct answer *a = &o->answers[slot->id];

		if (a->object == object && a->offset == offset)
			return a->frame;
	}
	frame = resolve(o, &o->list[object], offset);
	if (!frame || reserve_answer(o))
		return frame;
	o->answers[++o->answer_cnt] = (struct answer){ offset, object, frame };
	idindex_insert(&o->index, hash, o->answer_cnt);
	return frame;
}

__u32 objects__frame(struct objects *o, const struct mappings *m, __u64 address, bool kernel)
{
	unsigned at;

	if (kernel)
		return kernel_frame(o, address);
	at = first_behind(m, address);
	if (at < m->cnt && m->list[at].start <= address)
		return answer(o, m->list[at].object,
			      address - m->list[at].start + m->list[at].offset);
	if (!o->unknown_frame)
		o->unknown_frame = mark(o, "[unknown]");
	return o->unknown_frame;
}

const struct dso_reader *objects__dso(const struct objects *o)
{
	for (__u32 i = o->cnt; i-- > 0;) {
		if (o->list[i].dso)
			return o->list[i].dso;
	}
	return NULL;
}

const char *objects__missing(const struct objects *o)
{
	for (__u32 i = 0; i < o->cnt; i++) {
		if (o->list[i].is_dso && !o->list[i].dso)
			return o->list[i].path;
	}
	return NULL;
}

__u64 objects__unresolved(const struct objects *o)
{
	return o->unresolved;
}
