/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/space/modules.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "process/space/space_room.h"
#include "base/text/short_path.h"

/* Used as a key: no padding. The name is set only if there is no file. */
struct identity {
	struct file_id id;
	__u64 name_hash;
};

struct module {
	struct identity identity;
	__u32 number;
	char *name;
	enum module_origin origin;
	bool is_interpreter;
	__u8 build_id[MODULE_BUILD_ID_MAX];
	unsigned build_id_size;
	struct binary_key key; /* if the file could be examined */
	UT_hash_handle hh, by_key;
};

struct modules {
	struct module *by_identity;
	struct module *by_key; /* those with a key */
	struct space_room room;
};

struct modules *modules__new(void)
{
	struct modules *ms = calloc(1, sizeof(*ms));

	if (!ms || !space_room_init(&ms->room))
		return ms;
	free(ms);
	return NULL;
}

void modules__free(struct modules *ms)
{
	struct module *m, *next;

	if (!ms)
		return;
	HASH_CLEAR(by_key, ms->by_key);
	HASH_ITER(hh, ms->by_identity, m, next) {
		HASH_DEL(ms->by_identity, m);
		free(m->name);
		free(m);
	}
	space_room_free(&ms->room);
	free(ms);
}

struct space_room *modules__room(struct modules *ms)
{
	return &ms->room;
}

/* "python", "python3", "python3.11d", "python3.11-dbg"; not "python.so", "python3-worker". */
static bool is_launcher(const char *name)
{
	if (!starts_with(name, "python"))
		return false;
	name += strlen("python");
	name += strspn(name, "0123456789.");
	name += strspn(name, "tdmu");
	return !*name || !strcmp(name, "-dbg") || !strcmp(name, "-debug");
}

static enum module_origin origin_by_name(const struct module *m)
{
	const char *name = base_name(m->name);

	if (starts_with(name, "libc.so") || starts_with(name, "libc-") ||
	    starts_with(name, "libpthread") || starts_with(name, "ld-"))
		return ORIGIN_LIBC;
	if (starts_with(name, "_greenlet."))
		return ORIGIN_SWITCHER;
	return is_launcher(name) ? ORIGIN_INTERPRETER : ORIGIN_OTHER;
}

static __u64 hash_text(const char *text)
{
	__u64 hash = 0xcbf29ce484222325ULL;

	for (; *text; text++)
		hash = (hash ^ (__u8)*text) * 0x100000001b3ULL;
	return hash;
}

static void identify(struct identity *ret, const struct file_id *id, const char *name)
{
	memset(ret, 0, sizeof(*ret));
	if (id)
		ret->id = *id;
	else
		ret->name_hash = hash_text(name) | 1; /* cannot equal a file's */
}

/* What a module costs: its record, and its name. */
static __u64 units_of(const char *name)
{
	return 4 + strlen(name) / 64;
}

static bool has_unknown_device(const struct module *m)
{
	return m->identity.id.dev > MODULE_DEV_UNKNOWN / 2;
}

/*
 * Two states of a file that differ only in times its owner can set have the same key: the first one
 * keeps it.
 */
static void enter_key(struct modules *ms, struct module *m)
{
	m->key = binary_key_of(&m->identity.id);
	if (m->key.inode && !has_unknown_device(m) && !modules__find(ms, &m->key))
		HASH_ADD(by_key, ms->by_key, key, sizeof(m->key), m);
}

struct module *modules__find(struct modules *ms, const struct binary_key *key)
{
	struct module *m;

	HASH_FIND(by_key, ms->by_key, key, sizeof(*key), m);
	return m;
}

struct module *modules__get_id(struct modules *ms, const struct file_id *id, const char *name,
			       unsigned owner)
{
	struct identity identity;
	struct module *m;

	identify(&identity, id, name);
	HASH_FIND(hh, ms->by_identity, &identity, sizeof(identity), m);
	if (m)
		return m;
	/* Without room of its own it shares the nameless module, which always exists. */
	if (*name && quota__take(ms->room.files, owner, units_of(name)))
		return modules__get_id(ms, NULL, "", owner);
	m = calloc(1, sizeof(*m));
	if (m)
		m->name = strdup(name);
	if (!m || !m->name) {
		free(m);
		return NULL;
	}
	m->identity = identity;
	m->number = HASH_COUNT(ms->by_identity);
	m->origin = origin_by_name(m);
	HASH_ADD(hh, ms->by_identity, identity, sizeof(m->identity), m);
	enter_key(ms, m);
	return m;
}

struct module *modules__get(struct modules *ms, const char *path, const char *name, unsigned owner)
{
	struct file_id id;
	struct stat st;

	if (!*path || stat(path, &st))
		return modules__get_id(ms, NULL, name, owner);
	id = file_id_of(&st);
	return modules__get_id(ms, &id, name, owner);
}

__u32 module__number(const struct module *m)
{
	return m->number;
}

const char *module__name(const struct module *m)
{
	return m->name;
}

__u64 module__inode(const struct module *m)
{
	return m->identity.id.ino;
}

enum module_origin module__origin(const struct module *m)
{
	return m->origin;
}

void module__note_interpreter(struct module *m)
{
	m->is_interpreter = true;
}

bool module__is_interpreter(const struct module *m)
{
	return m->is_interpreter || m->origin == ORIGIN_INTERPRETER;
}

bool module__has_file(const struct module *m, const struct file_id *id)
{
	return m->identity.id.ino && m->identity.id.ino == id->ino &&
	       (has_unknown_device(m) || m->identity.id.dev == id->dev);
}

const __u8 *module__build_id(const struct module *m, unsigned *ret_size)
{
	*ret_size = m->build_id_size;
	return m->build_id_size ? m->build_id : NULL;
}

const __u8 *modules__build_id(const struct modules *ms, const char *name, unsigned *ret_size)
{
	const struct module *m, *found = NULL;

	*ret_size = 0;
	for (m = ms->by_identity; m; m = m->hh.next) {
		if (strcmp(m->name, name))
			continue;
		if (found && (found->build_id_size != m->build_id_size ||
			      memcmp(found->build_id, m->build_id, m->build_id_size)))
			return NULL;
		found = m;
	}
	return found ? module__build_id(found, ret_size) : NULL;
}

void module__set_build_id(struct module *m, const __u8 *id, unsigned size)
{
	m->build_id_size = size < sizeof(m->build_id) ? size : (unsigned)sizeof(m->build_id);
	memcpy(m->build_id, id, m->build_id_size);
}

/* The change time may differ by now: the name may have been removed. */
bool module__is_stat(const struct module *m, const struct stat *st)
{
	struct file_id id = file_id_of(st);

	if (m->identity.name_hash)
		return false;
	id.ctime_sec = m->identity.id.ctime_sec;
	id.ctime_nsec = m->identity.id.ctime_nsec;
	return has_unknown_device(m) || file_id_same(&id, &m->identity.id);
}
