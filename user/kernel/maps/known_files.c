/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/maps/known_files.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "kernel/maps/layouts.h"
#include "base/text/log.h"
#include "base/share/quota.h"

#define ROOT_RESERVE (KRAIT_MAX_BINARIES / 8)

struct entry {
	struct known_file file;
	bool taken;
	__u32 serial; /* how often the place was reassigned */
	unsigned owner;
	int fd; /* keeps the file; useless for anything else */
	unsigned users; /* processes that run it */
	__u64 used_ns;
	struct binary_key key;
	struct uprobe_set probes;
};

struct known_files {
	int binaries_fd;
	const struct uprobes *uprobes;
	struct layouts *layouts;
	struct quota *quota;
	struct entry list[KRAIT_MAX_BINARIES];
};

struct known_files *known_files__new(int binaries_fd, const struct uprobes *uprobes,
				     struct layouts *layouts)
{
	struct known_files *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->binaries_fd = binaries_fd;
	k->uprobes = uprobes;
	k->layouts = layouts;
	k->quota = quota__new(KRAIT_MAX_BINARIES, ROOT_RESERVE);
	if (!k->quota) {
		free(k);
		return NULL;
	}
	return k;
}

/* A number consists of a place and how often it was reassigned, so an old number matches nothing. */
static __u32 number_of(const struct known_files *k, const struct entry *e)
{
	return (e->serial << 8 | (__u32)(e - k->list)) & ~(1U << 31);
}

_Static_assert(KRAIT_MAX_BINARIES <= 256, "a place is eight bits of a number");

/*
 * First makes sure that no process is taken for this file any more, then frees its number for
 * another.
 */
static void forget(struct known_files *k, struct entry *e, __u64 now_ns)
{
	if (k->binaries_fd >= 0 && e->file.build == PY_BUILD_EXE)
		bpf_map_delete_elem(k->binaries_fd, &e->key);
	uprobes_detach(&e->probes);
	layouts__drop(k->layouts, e->file.layout, now_ns);
	quota__give(k->quota, e->owner, 1);
	close(e->fd);
	e->taken = false;
	e->serial++;
}

void known_files__free(struct known_files *k)
{
	if (!k)
		return;
	for (int i = 0; i < KRAIT_MAX_BINARIES; i++)
		if (k->list[i].taken)
			forget(k, &k->list[i], 0);
	quota__free(k->quota);
	free(k);
}

static struct entry *find(struct known_files *k, const struct file_id *id)
{
	for (int i = 0; i < KRAIT_MAX_BINARIES; i++)
		if (k->list[i].taken && file_id_same(&k->list[i].file.id, id))
			return &k->list[i];
	return NULL;
}

/* Drops the owner's least recently used file, if it has been idle long enough. */
static bool forget_idle(struct known_files *k, unsigned owner, __u64 now_ns)
{
	struct entry *oldest = NULL;

	for (int i = 0; i < KRAIT_MAX_BINARIES; i++) {
		struct entry *e = &k->list[i];

		if (e->taken && e->owner == owner && (!oldest || e->used_ns < oldest->used_ns))
			oldest = e;
	}
	if (!oldest || now_ns < oldest->used_ns + KNOWN_FILES_IDLE_NS)
		return false;
	forget(k, oldest, now_ns);
	return true;
}

/* A free place, now the owner's; or NULL. */
static struct entry *take_place(struct known_files *k, unsigned owner, __u64 now_ns)
{
	struct entry *e = k->list;

	while (quota__take(k->quota, owner, 1))
		if (!forget_idle(k, owner, now_ns))
			return NULL;
	/* The quota has as many units as there are places. */
	while (e->taken)
		e++;
	return e;
}

/* Tells the kernel. Returns 0, or -errno with nothing of it left there. */
static int announce(struct known_files *k, struct entry *e, const struct py_process *p, __u32 flags)
{
	const struct binary_info info = {
		.runtime_delta = p->code_delta,
		.layout = e->file.layout,
		.flags = flags,
		.file = number_of(k, e),
	};
	int r;

	if (p->build == PY_BUILD_EXE) {
		r = k->binaries_fd < 0 ?
			    0 :
			    bpf_map_update_elem(k->binaries_fd, &e->key, &info, BPF_ANY);
		return r ? -errno : 0;
	}
	r = uprobes_attach(k->uprobes, e->fd, p->entries, p->entry_cnt,
			   (__u32)(e - k->list) * ELF_ENTRIES_MAX, &info, &e->probes);
	/* It stays in the table, so that nobody tries again. */
	if (r < 0)
		log_debug("known files", "%s is not probed: %s", p->file, strerror(-r));
	return 0;
}

/* Keeps the file without opening it: closing then never waits for a server. */
static int hold(int fd)
{
	char path[32];
	int held;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	held = open(path, O_PATH | O_CLOEXEC);
	return held < 0 ? -errno : held;
}

static int add(struct known_files *k, const struct py_process *p, int fd, unsigned owner,
	       __u32 flags, __u64 now_ns)
{
	struct entry *e = take_place(k, owner, now_ns);
	int layout, held, err;

	if (!e)
		return -EDQUOT;
	layout = layouts__take(k->layouts, owner, &p->offsets, now_ns);
	held = layout < 0 ? layout : hold(fd);
	if (held < 0) {
		layouts__drop(k->layouts, layout < 0 ? KRAIT_NO_LAYOUT : (__u32)layout, now_ns);
		quota__give(k->quota, owner, 1);
		return held;
	}
	*e = (struct entry){
		.file = { .id = p->file_id,
			  .build = p->build,
			  .layout = (__u32)layout,
			  .version = p->version,
			  .debug = p->debug,
			  .alone = p->alone },
		.taken = true,
		.serial = e->serial,
		.owner = owner,
		.fd = held,
		.used_ns = now_ns,
		.key = binary_key_of(&p->file_id),
	};
	snprintf(e->file.name, sizeof(e->file.name), "%s", p->file);
	err = announce(k, e, p, flags);
	if (err)
		forget(k, e, now_ns);
	return err ? err : (int)number_of(k, e);
}

/* Is the open file the one that was examined, still in the same state? */
static bool is_that_file(int fd, const struct file_id *id)
{
	struct file_id now;
	struct stat st;

	if (fstat(fd, &st))
		return false;
	now = file_id_of(&st);
	return file_id_same(&now, id);
}

int known_files__learn(struct known_files *k, const struct py_process *p, int fd, unsigned owner,
		       __u32 flags, __u64 now_ns)
{
	struct entry *e;

	if (!p->of_file || p->file_remote || fd < 0 ||
	    (p->build == PY_BUILD_SHARED && !p->entry_cnt))
		return -EOPNOTSUPP;
	e = find(k, &p->file_id);
	if (!e)
		return is_that_file(fd, &p->file_id) ? add(k, p, fd, owner, flags, now_ns) :
						       -ESTALE;
	e->used_ns = now_ns;
	return (int)number_of(k, e);
}

static struct entry *of_number(struct known_files *k, __u32 number)
{
	struct entry *e = &k->list[number % 256 % KRAIT_MAX_BINARIES];

	return e->taken && number_of(k, e) == number ? e : NULL;
}

const struct known_file *known_files__at(struct known_files *k, __u32 number, __u64 now_ns)
{
	struct entry *e = of_number(k, number);

	if (!e)
		return NULL;
	e->used_ns = now_ns;
	return &e->file;
}

void known_files__begin_use(struct known_files *k, __u32 number)
{
	struct entry *e = of_number(k, number);

	if (e)
		e->users++;
}

void known_files__end_use(struct known_files *k, __u32 number, __u64 now_ns)
{
	struct entry *e = of_number(k, number);

	if (!e || !e->users)
		return;
	e->users--;
	e->used_ns = now_ns;
}

void known_files__release_idle(struct known_files *k, __u64 now_ns)
{
	for (int i = 0; i < KRAIT_MAX_BINARIES; i++) {
		struct entry *e = &k->list[i];

		if (e->taken && !e->users && now_ns >= e->used_ns + KNOWN_FILES_IDLE_NS)
			forget(k, e, now_ns);
	}
}

const struct quota *known_files__quota(const struct known_files *k)
{
	return k->quota;
}
